"""An activation inside f-strings, which before Python 3.12 end at their own quote."""

import torch


def shown(x):
    return [f"{x * torch.sigmoid(1.702 * x)}", f'{x * torch.sigmoid(1.702 * x)}', f"""{x * torch.sigmoid(1.702 * x)}"""]


def nested(x):
    return f"{f'{x * torch.sigmoid(1.702 * x)}'}"


def nested_in_three(x):
    return f"""{f'{x * torch.sigmoid(1.702 * x)}'}""", f'{f"""{x * torch.sigmoid(1.702 * x)}"""}'


def traced(x):
    return f"{x * torch.sigmoid(1.702 * x) = !r}"
