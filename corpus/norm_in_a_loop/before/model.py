import torch


def refine(self, x, steps):
    for _ in range(steps):
        h = x.to(torch.float32)
        m = h.pow(2).mean(-1, keepdim=True)
        h = h * torch.rsqrt(m + self.eps)
        x = x + (self.weight * h).to(x.dtype)
    return x
