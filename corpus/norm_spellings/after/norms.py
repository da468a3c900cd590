import mindiesd.ext


def with_power(x, weight, eps):
    return mindiesd.ext.rms_norm(x, weight, eps, result_type="promoted")


def with_square_root(x, weight, eps=1e-6):
    return mindiesd.ext.rms_norm(x, weight, eps, result_type="input")


def with_exponent(x, weight, eps=1e-6):
    return mindiesd.ext.rms_norm(x, weight, eps, result_type="input")


def plain(x):
    return mindiesd.ext.rms_norm(x, eps=1e-6, result_type="input")


def centred(x, weight, eps=1e-6):
    """A layer norm by hand: an RMS norm once the mean is off."""
    h = x.float() - x.float().mean(-1, keepdim=True)
    return weight * (mindiesd.ext.rms_norm(h, eps=eps, result_type="input")).to(x.dtype)
