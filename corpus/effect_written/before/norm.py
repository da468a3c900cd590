import torch


def forward(self, x):
    h = x.float()
    variance = h.pow(2).mean(-1, keepdim=True)
    x.zero_()
    return self.weight * (h * torch.rsqrt(variance + self.eps)).to(x.dtype)
