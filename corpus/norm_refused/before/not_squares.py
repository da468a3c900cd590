import torch


def forward(self, x, variance):
    """The root of something that is no mean of squares."""
    return x * torch.rsqrt(variance.mean(-1, keepdim=True) + 1e-6)
