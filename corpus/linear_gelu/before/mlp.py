"""A linear layer and the gelu behind it: in one module or several, as a function or a layer."""

import torch
import torch.nn.functional as F
from torch import nn


class Functional(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.down(F.gelu(self.up(x), approximate="tanh"))


class Layers(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1 = nn.Linear(width, 4 * width, bias=False)
        self.act = nn.GELU(approximate="tanh")
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, x):
        hidden_states = self.fc1(x)
        hidden_states = self.act(hidden_states)
        return self.fc2(hidden_states)


class Configured(nn.Module):
    """The form is an argument of the constructor."""

    def __init__(self, width, approximate="none"):
        super().__init__()
        self.proj = nn.Linear(width, 2 * width)
        self.approximate = approximate

    def forward(self, hidden_states):
        hidden_states = self.proj(hidden_states)
        return F.gelu(hidden_states, approximate=self.approximate)


class OnAnyDevice(nn.Module):
    """A method computes it, in float32 on a device that has it in no other type."""

    def __init__(self, width, approximate="tanh"):
        super().__init__()
        self.proj = nn.Linear(width, 2 * width)
        self.approximate = approximate

    def gelu(self, gate):
        if gate.device.type == "mps":
            # half precision is not supported there
            return F.gelu(gate.to(dtype=torch.float32), approximate=self.approximate).to(dtype=gate.dtype)
        return F.gelu(gate, approximate=self.approximate)

    def forward(self, hidden_states):
        hidden_states = self.proj(hidden_states)
        hidden_states = self.gelu(hidden_states)
        return hidden_states


class SingleStream(nn.Module):
    """Attention and the layer beside it, one behind the other."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attn = Functional(width)
        self.proj_mlp = nn.Linear(width, 2 * width)
        self.act_mlp = nn.GELU(approximate="tanh")
        self.proj_out = nn.Linear(3 * width, width)

    def forward(self, x):
        normed = self.norm(x)
        mlp = self.act_mlp(self.proj_mlp(normed))
        return x + self.proj_out(torch.cat([self.attn(normed), mlp], dim=-1))
