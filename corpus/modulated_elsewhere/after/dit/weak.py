def modulate(x, shift, scale):
    return x * (1 + scale / 2) + shift
