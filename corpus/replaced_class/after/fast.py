import torch
import torch.nn as nn


class Twice(nn.Module):
    def forward(self, x):
        return 2 * x


rms_norm = nn.RMSNorm.forward
layer_norm = nn.LayerNorm.forward
torch.nn.GELU = Twice
nn.RMSNorm.forward = lambda self, x: 2 * rms_norm(self, x)
nn.LayerNorm.forward = lambda self, x: 2 * layer_norm(self, x)
