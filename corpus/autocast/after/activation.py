import mindiesd.ext


def by_tanh(x):
    return mindiesd.ext.gelu(x, approximate="tanh")


def by_erf(x):
    return mindiesd.ext.gelu(x)


def by_sigmoid(x):
    return mindiesd.ext.silu(x)
