import torch


def forward(self, x):
    h = x.float()
    h = h / (torch.sqrt(h.pow(2).mean(-1, keepdim=True)) + self.eps)
    return (self.weight * h).to(x.dtype)
