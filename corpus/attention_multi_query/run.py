import attention
import torch


def outputs():
    results = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        layer, x = attention.Attention(32, 4, 8).eval().to(dtype), torch.randn(2, 6, 32).to(dtype)
        keep = torch.tensor([[True] * 3 + [False] * 2, [False] * 5])
        results += [layer(x), layer(x, keep)]
        q, k, v = (torch.randn(shape).to(dtype) for shape in ((2, 4, 6, 16), (2, 5, 16), (2, 5, 16)))
        results += [attention.viewed(q, k, v), attention.biased(q, k, v, torch.randn(4, 6, 5).to(dtype))]
        heads = [t[:, None].expand(2, 4, 5, 16) for t in (k, v)]
        results += [attention.of_any_rank(q, *heads), attention.of_any_rank(q[:, 0], k, v)]
        results += [attention.values_of_each_head(q, k, heads[1]), attention.over_the_heads(q, k, v)]
    return results
