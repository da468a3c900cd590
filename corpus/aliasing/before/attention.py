import torch.nn.functional as F


def updated_between(x, update, n, d):
    """The copy keeps what x was before the update."""
    b = x.shape[0]
    q = x.view(b, -1, n, d)
    copy = q.transpose(1, 2).contiguous()
    update(x)
    k = x.view(b, -1, n, d).transpose(1, 2)
    o = F.scaled_dot_product_attention(copy, k, k)
    return o.transpose(1, 2).flatten(2)
