"""Sites whose names come by a star, whose alias is read by the module alone, or whose chain is broken."""

import torch
from common import *
from torch.nn import GELU as Activation

act = Activation()


def hidden(x):
    return F.gelu(x)


def module():
    return nn.GELU(approximate="tanh")


def broken(x):
    return (torch.nn.
            functional.gelu(x))
