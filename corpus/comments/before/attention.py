import torch  # the framework
import torch.nn.functional as F  # for attention only


def attend(q, k, v, heads, mask=None):
    b, n, c = q.shape
    # split the heads
    q = q.view(b, n, heads, -1)  # [b, n, h, d]
    q = q.transpose(1, 2)  # [b, h, n, d]
    k = k.view(b, -1, heads, c // heads).transpose(1, 2)  # keys
    v = v.view(b, -1, heads, c // heads).transpose(1, 2)
    # the mask is boolean
    x = F.scaled_dot_product_attention(
        q,  # queries
        k,
        v,
        # True keeps
        attn_mask=mask,
        dropout_p=0.0,  # never at inference
        is_causal=False,
    )  # [b, h, n, d]
    x = x.transpose(1, 2)  # back

    # merge
    return x.reshape(b, n, c)


def normalise(self, x):
    # in float32
    h = x.float()
    variance = h.pow(2).mean(-1, keepdim=True)  # of the last axis
    # no mean is taken off
    h = h * torch.rsqrt(variance + self.eps)
    return self.weight * h.to(x.dtype)  # the weight comes last
