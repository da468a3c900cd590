from torch import nn

from .blocks import Attention, Inherited


class Windowed(Inherited):
    """Gives its values a window axis."""

    def __init__(self, dim: int, heads: int):
        super().__init__(dim, heads)
        self.project_v = nn.Unflatten(1, (1, -1))


class Unbiased(Attention):
    """Its layer agrees with the class that it inherits from."""

    def __init__(self, dim: int, heads: int):
        super().__init__(dim, heads)
        self.to_v = nn.Linear(dim, dim, bias=False)
