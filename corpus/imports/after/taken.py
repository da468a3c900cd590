import mindiesd.ext as _mindiesd_ext

mindiesd = "a name that is taken"


def attend(q, k, v):
    return _mindiesd_ext.attention_forward(q, k, v, head_first=True), mindiesd
