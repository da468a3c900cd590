"""Sites whose names come by a star, whose alias is read by the module alone, or whose chain is broken."""

import mindiesd.ext
from common import *

act = mindiesd.ext.GELU()


def hidden(x):
    return mindiesd.ext.gelu(x)


def module():
    return mindiesd.ext.GELU(approximate="tanh")


def broken(x):
    return (mindiesd.ext.gelu(x))
