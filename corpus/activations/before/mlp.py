import torch
import torch.nn as nn
import torch.nn.functional as F


class QuickGELU(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


def stable_quick_gelu(x):
    y = torch.abs(x)
    return x / (1 + torch.exp(-1.702 * y)) * torch.exp(0.851 * (x - y))


class GEGLU(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.proj = nn.Linear(width, inner * 2)

    def forward(self, x):
        hidden, gate = self.proj(x).chunk(2, dim=-1)
        return hidden * F.gelu(gate)


class SwiGLU(nn.Module):
    def forward(self, x):
        gate, hidden = x.chunk(2, dim=-1)
        return F.silu(gate) * hidden


class MLP(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1 = nn.Linear(width, width)
        self.act = nn.GELU()
        self.tanh = nn.GELU(approximate="tanh")
        self.fc2 = nn.Linear(width, width)

    def forward(self, x):
        return self.fc2(self.tanh(self.act(self.fc1(x))))


def functions(x, how="tanh"):
    return F.gelu(x) + F.gelu(x, approximate=how) + nn.functional.silu(x)


ACTIVATIONS = {"gelu": F.gelu, "silu": F.silu, "GELU": nn.GELU}


def over_its_operand(x):
    return F.silu(x, inplace=True)


def two_tensors(x, y):
    """A gate, but not a quick gelu."""
    return y * torch.sigmoid(1.702 * x)
