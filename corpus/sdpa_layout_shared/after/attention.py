import mindiesd.ext
import torch
import torch.nn as nn
import torch.nn.functional as F


class AdaptedAttention(nn.Module):
    """Attention to the text, and from the same query to the tokens of each image prompt."""

    def __init__(self, dim, heads, prompts):
        super().__init__()
        self.heads = heads
        self.to_q, self.to_k, self.to_v = (nn.Linear(dim, dim) for _ in range(3))
        self.to_k_ip = nn.ModuleList(nn.Linear(dim, dim) for _ in range(prompts))
        self.to_v_ip = nn.ModuleList(nn.Linear(dim, dim) for _ in range(prompts))

    def forward(self, x, text, images, masks=None):
        batch, _, dim = x.shape
        head_dim = dim // self.heads
        query = self.to_q(x).view(batch, -1, self.heads, head_dim)
        key = self.to_k(text).view(batch, -1, self.heads, head_dim)
        value = self.to_v(text).view(batch, -1, self.heads, head_dim)
        out = mindiesd.attention_forward(query, key, value)
        out = out.reshape(batch, -1, dim)
        for image, to_k, to_v in zip(images, self.to_k_ip, self.to_v_ip):
            if masks is not None:
                for mask in masks:
                    ip_key = to_k(image)
                    ip_value = to_v(image)
                    ip_key = ip_key.view(batch, -1, self.heads, head_dim)
                    ip_value = ip_value.view(batch, -1, self.heads, head_dim)
                    more = mindiesd.attention_forward(query, ip_key, ip_value)
                    more = more.reshape(batch, -1, dim)
                    out = out + more * mask
            else:
                ip_key = to_k(image).view(batch, -1, self.heads, head_dim)
                ip_value = to_v(image).view(batch, -1, self.heads, head_dim)
                more = mindiesd.attention_forward(query, ip_key, ip_value)
                out = out + more.reshape(batch, -1, dim)
        return out


def by_cases(q, k, v, heads, mask=None):
    b = q.shape[0]
    q = q.view(b, -1, heads, 8)
    k = k.view(b, -1, heads, 8)
    v = v.view(b, -1, heads, 8)
    if mask is None and q.shape[1] == k.shape[1]:
        out = mindiesd.ext.attention_forward(q, k, v, is_causal=True)
    else:
        out = mindiesd.attention_forward(q, k, v, attn_mask=mask)
    return out.flatten(2)


def twice(q, k, v, heads):
    b = q.shape[0]
    q = q.view(b, -1, heads, 8)
    k = k.view(b, -1, heads, 8)
    v = v.view(b, -1, heads, 8)
    near = mindiesd.attention_forward(q, k, v)
    far = mindiesd.attention_forward(near, torch.cat([k, q], dim=1), torch.cat([v, v], dim=1))
    return (near + far).flatten(2)


def one_stays(q, k, v, heads):
    """The second result is read with its heads in front, so neither call may change."""
    b = q.shape[0]
    q = q.view(b, -1, heads, 8).transpose(1, 2)
    k = k.view(b, -1, heads, 8).transpose(1, 2)
    v = v.view(b, -1, heads, 8).transpose(1, 2)
    out = mindiesd.attention_forward(q, k, v, head_first=True).transpose(1, 2)
    by_head = mindiesd.attention_forward(q, k, k, head_first=True)
    return out, by_head


def one_refused(q, k, v, heads):
    """The second call drops, so it stays torch's and reads the operands as they are."""
    b = q.shape[0]
    q = q.view(b, -1, heads, 8).transpose(1, 2)
    k = k.view(b, -1, heads, 8).transpose(1, 2)
    v = v.view(b, -1, heads, 8).transpose(1, 2)
    out = mindiesd.attention_forward(q, k, v, head_first=True).transpose(1, 2)
    other = F.scaled_dot_product_attention(q, k, v, dropout_p=1.0).transpose(1, 2)
    return out, other


def as_its_mask(q, k, v, heads):
    """The first key is the second call's mask."""
    b = q.shape[0]
    q = q.view(b, -1, heads, 8).transpose(1, 2)
    k = k.view(b, -1, heads, 8).transpose(1, 2)
    v = v.view(b, -1, heads, 8).transpose(1, 2)
    out = mindiesd.attention_forward(q, k, v, head_first=True).transpose(1, 2)
    other = mindiesd.attention_forward(q, v[:, :, :8], v[:, :, :8], attn_mask=k, head_first=True)
    return out, other.transpose(1, 2)
