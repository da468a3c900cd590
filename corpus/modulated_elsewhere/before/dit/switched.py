from .weak import modulate as weaker


def modulate(x, shift, scale):
    return x * (1 + scale) + shift


def switch():
    global modulate
    modulate = weaker
