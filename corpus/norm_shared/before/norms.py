import torch


def shared_root(self, x):
    """The inverse root is given out besides."""
    h = x.float()
    inverse = torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
    return self.weight * (h * inverse).to(x.dtype), inverse


def branch_with_more(self, x, counts):
    """The branch that picks the type also counts, so it cannot be replaced."""
    variance = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
    x = x * torch.rsqrt(variance + self.eps)
    if self.weight is not None:
        if self.weight.dtype in [torch.float16, torch.bfloat16]:
            x = x.to(self.weight.dtype)
        x = x * self.weight
        counts.append(1)
        if self.bias is not None:
            x = x + self.bias
    else:
        x = x.to(variance.dtype)
    return x
