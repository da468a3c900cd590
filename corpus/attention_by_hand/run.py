import bert
import torch
import vit


def outputs():
    x = torch.randn(2, 7, 32)
    q, k, v = torch.randn(2, 5, 8), torch.randn(2, 6, 8), torch.randn(2, 6, 3)
    attention = bert.SelfAttention(32, 4).eval()
    return [
        vit.Attention(32).eval()(x),
        vit.Pooled(32).eval()(x),
        attention(x),
        attention(x, torch.where(torch.rand(2, 1, 1, 7) < 0.3, -1e4, 0.0)),
        bert.single(q, k, v),
        bert.sliced(q, k, v, 0.3),
        bert.biased(q, k, v, torch.randn(5, 6)),
    ]
