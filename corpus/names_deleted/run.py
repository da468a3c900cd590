import attention
import torch


def outputs():
    q, k, v = (torch.randn(2, 4, 7, 8) for _ in range(3))
    rows = [torch.randn(2, 7, 32) for _ in range(3)]
    out = [attention.heads(*rows, 4)]
    for call in (attention.by_hand, attention.of_both, attention.with_an_operand, attention.from_inside):
        out.append(call(q, k, v))
    out += [attention.on_one_path(q, k, v, wide) for wide in (True, False)]
    for name in (
        "in_rounds", "of_the_last_round", "of_the_round_before", "another_meaning", "within", "in_some_rounds",
    ):  # fmt: skip
        out.append(getattr(attention, name)(q, k, v))
    out += [attention.on_each_branch(q, k, v, wide) for wide in (True, False)]
    cache = {}
    out.append(attention.entries(q, k, v, cache))
    assert not cache
    return out
