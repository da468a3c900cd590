import mindiesd.ext as _mindiesd_ext


def attend(q, k, v, mindiesd=None):
    return _mindiesd_ext.attention_forward(q, k, v, head_first=True), mindiesd
