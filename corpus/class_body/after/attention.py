import mindiesd.ext
import torch
import torch.nn.functional as F

HAS_SDPA = hasattr(F, "scaled_dot_product_attention")


class Attention(torch.nn.Module):
    if HAS_SDPA:

        def forward(self, q, k, v):
            return mindiesd.ext.attention_forward(q, k, v, head_first=True)

    else:

        def forward(self, q, k, v):
            return mindiesd.ext.attention_forward(
                q,
                k,
                v,
                scale=q.shape[-1] ** -0.5,
                head_first=True,
                strides="BNSD",
            )

    try:
        mean = F.scaled_dot_product_attention(*[torch.ones(1, 1, 1, 1)] * 3)
    except TypeError:
        mean = None
