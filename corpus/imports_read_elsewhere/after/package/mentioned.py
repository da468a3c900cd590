import mindiesd.ext


def act(x):
    return mindiesd.ext.gelu(x)
