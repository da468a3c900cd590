import torch


def with_power(x, weight, eps):
    h = x.float()
    return weight * (h * ((h**2).mean(-1, keepdim=True) + eps).rsqrt()).type_as(x)


def with_square_root(x, weight, eps=1e-6):
    h = x.to(torch.float32)
    h = h / torch.sqrt(torch.mean(torch.square(h), dim=-1, keepdim=True) + eps)
    return (weight * h).to(x.dtype)


def with_exponent(x, weight, eps=1e-6):
    dtype = x.dtype
    h = x.float()
    variance = torch.mean(h * h, dim=-1, keepdim=True)
    h = h * (variance + eps) ** -0.5
    return (h * weight).to(dtype)


def plain(x):
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean(dim=-1, keepdim=True) + 1e-6)).to(x.dtype)


def centred(x, weight, eps=1e-6):
    """A layer norm by hand: an RMS norm once the mean is off."""
    h = x.float() - x.float().mean(-1, keepdim=True)
    return weight * (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype)
