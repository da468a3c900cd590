"""An activation inside f-strings, which before Python 3.12 end at their own quote."""

import mindiesd.ext
import torch


def shown(x):
    return [f"{mindiesd.ext.gelu(x, approximate='fast')}", f'{mindiesd.ext.gelu(x, approximate="fast")}', f"""{mindiesd.ext.gelu(x, approximate="fast")}"""]


def nested(x):
    return f"{f'{x * torch.sigmoid(1.702 * x)}'}"


def nested_in_three(x):
    return f"""{f'{mindiesd.ext.gelu(x, approximate="fast")}'}""", f'{f"""{mindiesd.ext.gelu(x, approximate="fast")}"""}'


def traced(x):
    return f"{x * torch.sigmoid(1.702 * x) = !r}"
