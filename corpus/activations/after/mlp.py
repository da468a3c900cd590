import mindiesd.ext
import torch
import torch.nn as nn
import torch.nn.functional as F


class QuickGELU(nn.Module):
    def forward(self, x):
        return mindiesd.ext.gelu(x, approximate="fast")


def stable_quick_gelu(x):
    return mindiesd.ext.gelu(x, approximate="fast")


class GEGLU(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.proj = nn.Linear(width, inner * 2)

    def forward(self, x):
        return mindiesd.ext.glu(self.proj(x), "gelu", dim=-1)


class SwiGLU(nn.Module):
    def forward(self, x):
        return mindiesd.ext.glu(x, "silu", gate="first", dim=-1)


class MLP(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1 = nn.Linear(width, width)
        self.act = mindiesd.ext.GELU()
        self.tanh = mindiesd.ext.GELU(approximate="tanh")
        self.fc2 = nn.Linear(width, width)

    def forward(self, x):
        return self.fc2(self.tanh(mindiesd.ext.linear_activation(self.fc1, x, self.act)))


def functions(x, how="tanh"):
    return mindiesd.ext.gelu(x) + mindiesd.ext.gelu(x, approximate=how) + mindiesd.ext.silu(x)


ACTIVATIONS = {"gelu": F.gelu, "silu": F.silu, "GELU": nn.GELU}


def over_its_operand(x):
    return F.silu(x, inplace=True)


def two_tensors(x, y):
    """A gate, but not a quick gelu."""
    return y * torch.sigmoid(1.702 * x)
