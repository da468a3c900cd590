import attention
import torch


def outputs():
    results = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        padding = attention.Padding(32, 4).to(dtype)
        x = torch.randn(2, 6, 32).to(dtype)
        keep = torch.tensor([[True] * 4 + [False] * 2, [False] * 6])  # the second is hidden whole
        results += [padding(x), padding(x, keep)]
        q, k, v = torch.randn(2, 4, 6, 16), torch.randn(2, 4, 6, 16), torch.randn(2, 4, 6, 16)
        q, k, v = (4 * q).to(dtype), (4 * k).to(dtype), v.to(dtype)
        results += [attention.by_a_helper(q, k, v), attention.by_a_helper(q, k, v, keep)]
        whole = torch.rand(2, 1, 6, 6) > 0.5
        whole[:, :, 3] = False
        results += [attention.given_whole(q, k, v), attention.given_whole(q, k, v, whole)]
        results += [attention.zeros_hide(q, k, v, whole.int())]
        seen = whole[:, 0] | torch.eye(6, dtype=torch.bool)
        results += [attention.by_infinity(q, k, v), attention.by_infinity(q, k, v, seen)]
        results += [attention.Causal(6, causal)(q, k, v) for causal in (True, False)]
        results += [attention.made_on_the_branch(q, k, v), attention.made_on_the_branch(q, k, v, torch.tensor([4, 0]))]
        results += [attention.another_name_is_kept(q, k, v)[0], *attention.another_name_is_kept(q, k, v, ~seen[:, None])]
        results += [attention.rebound_behind(q, k, v), attention.rebound_behind(q, k, v, seen[:, None])]
        results += [attention.twice(q, k, v, None, seen[:, None]), *attention.read_too(q, k, v, whole)]
    return results
