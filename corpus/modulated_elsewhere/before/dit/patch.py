from . import helpers


def weaker(x, shift, scale):
    return x * (1 + scale / 2) + shift


helpers.replaced = weaker
