import torch


class RoPE1D(torch.nn.Module):
    def __init__(self, freq=1e4):
        super().__init__()
        self.base = freq

    @staticmethod
    def rotate_half(x):
        x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
        return torch.cat((-x2, x1), dim=-1)

    def apply_rope1d(self, tokens, positions, cos, sin):
        assert positions.ndim == 2
        cos = torch.nn.functional.embedding(positions, cos)[:, None, :, :]
        sin = torch.nn.functional.embedding(positions, sin)[:, None, :, :]
        return (tokens * cos) + (self.rotate_half(tokens) * sin)


class Attention(torch.nn.Module):
    """A method of every object, which the class alone has."""

    def rotate_half(self, x):
        x1 = x[..., : x.shape[-1] // 2]
        x2 = x[..., x.shape[-1] // 2 :]
        return torch.cat((-x2, x1), dim=-1)

    def rotate(self, q, cos, sin):
        return (q * cos) + (self.rotate_half(q) * sin)


class Base(torch.nn.Module):
    def rotate_half(self, x):
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat((-x2, x1), dim=-1)

    def rotate(self, q, cos, sin):
        return (q * cos) + (self.rotate_half(q) * sin)


class Other(Base):
    """It has a rotation of its own, which the method that it inherits calls."""

    def rotate_half(self, x):
        return torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)


class Exchanged(torch.nn.Module):
    def __init__(self, rotate):
        super().__init__()
        if rotate is not None:
            self.rotate_half = rotate

    @staticmethod
    def rotate_half(x):
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat((-x2, x1), dim=-1)

    def rotate(self, q, cos, sin):
        return (q * cos) + (self.rotate_half(q) * sin)
