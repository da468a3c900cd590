import mindiesd.ext
import torch


class Norm(torch.nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def pinned(self, x):
        return mindiesd.ext.rms_norm(x, self.weight, self.eps)


def centred(x, weight, eps: float = 1e-6):
    x = x.float()
    return mindiesd.ext.rms_norm(x, eps=eps, result_type="input") * (1.0 + weight.float())
