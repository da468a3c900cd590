import torch.nn as nn


class WeightWritten(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8, elementwise_affine=False)
        self.affine = nn.LayerNorm(8)

    def by_a_method(self, x, scale, shift):
        y = self.affine(x)
        self.affine.weight.mul_(2)
        return y * (1 + scale) + shift

    def by_its_data(self, x, scale, shift):
        y = self.affine(x)
        self.affine.weight.data += 1
        return y * (1 + scale) + shift

    def its_eps(self, x, scale, shift):
        y = self.norm(x)
        self.norm.eps = 1e-3
        return y * (1 + scale) + shift
