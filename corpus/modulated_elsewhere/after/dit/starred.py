def modulate(x, shift, scale):
    return x * (1 + scale) + shift


from .weak import *
