import mindiesd.ext
from parts.mindiesd import scale


def weights(scores):
    return mindiesd.ext.softmax(scores, dim=-1, clamp_min=-5.0) * scale


def published(q, k, v):
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    return mindiesd.ext.attention_forward(q, k, v, head_first=True).transpose(1, 2)
