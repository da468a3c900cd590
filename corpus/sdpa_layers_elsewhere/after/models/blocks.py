"""What the processors of other files are given."""

import mindiesd.ext
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim: int, heads: int, qk_norm: str = "rms"):
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(dim, dim)
        self.to_k = nn.Linear(dim, dim)
        self.to_v = nn.Linear(dim, dim)
        self.norm_q = mindiesd.ext.RMSNorm(dim // heads) if qk_norm == "rms" else nn.LayerNorm(dim // heads)
        self.norm_k = mindiesd.ext.RMSNorm(dim // heads) if qk_norm == "rms" else nn.LayerNorm(dim // heads)
        self.to_out = nn.Linear(dim, dim)


class Mixed(nn.Module):
    """Its keys come out of a chain of layers; its values are normed over five tokens."""

    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(dim, dim)
        self.to_k = nn.Sequential(nn.Linear(dim, dim), nn.Unflatten(-1, (1, dim)))
        self.to_v = nn.Linear(dim, dim)
        self.norm_v = nn.LayerNorm((5, dim // heads))


class Inherited(nn.Module):
    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.heads = heads
        self.project_q = nn.Linear(dim, dim)
        self.project_k = nn.Linear(dim, dim)
        self.project_v = nn.Linear(dim, dim)
