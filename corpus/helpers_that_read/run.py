import rope
import torch


def outputs():
    torch.manual_seed(3)
    q, k = torch.randn(2, 5, 4, 8), torch.randn(2, 5, 4, 8)
    table = torch.polar(torch.ones(5, 4), torch.randn(5, 4))
    yield from rope.apply_rotary_emb(q, k, table)
    yield rope.Attention.apply_rotary_emb(q, table)
    for other in (
        rope.with_doubled,
        rope.with_first_set,
        rope.with_noted,
        rope.with_its_own_list,
        rope.with_a_parameter,
    ):
        yield other(q.half(), table)
