import mindiesd.ext

try:
    from torch.nn.functional import scaled_dot_product_attention as sdpa
except ImportError:
    sdpa = None


def attend(q, k, v):
    if sdpa is None:
        return mindiesd.ext.attention_forward(
            q,
            k,
            v,
            scale=q.shape[-1] ** -0.5,
            head_first=True,
            strides="BNSD",
        )
    return mindiesd.ext.attention_forward(q, k, v, head_first=True)
