import torch.nn as nn

from norms import (
    FloatLayerNorm,
    LayerNormBehindAString,
    LayerNormByFunction,
    LayerNormCalledOtherwise,
    LayerNormInThreeLines,
    LayerNormKeptWide,
    LayerNormOfAChannel,
    LayerNormOfTwice,
    LayerNormThatCounts,
    LayerNormWithItsOwnBody,
)


class Block(nn.Module):
    """As Wan has it: the norm gives the type of x, and is scaled in float32."""

    def __init__(self, dim):
        super().__init__()
        self.norm1 = FloatLayerNorm(dim)
        self.norm2 = FloatLayerNorm(dim)
        self.lines = LayerNormInThreeLines(dim)
        self.function = LayerNormByFunction(dim)

    def forward(self, x, e):
        y = self.norm1(x).float() * (1 + e[1]) + e[0]
        z = self.norm2(x) * (1 + e[1]) + e[0]
        return y, z, self.lines(x) * (1 + e[1]) + e[0], self.function(x) * (1 + e[1]) + e[0]


class Others(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.twice = LayerNormOfTwice(dim)
        self.wide = LayerNormKeptWide(dim)
        self.called = LayerNormCalledOtherwise(dim)
        self.own_body = LayerNormWithItsOwnBody(dim)
        self.channel = LayerNormOfAChannel(dim)
        self.string = LayerNormBehindAString(dim)
        self.counts = LayerNormThatCounts(dim)

    def forward(self, x, e):
        a = self.twice(x) * (1 + e[1]) + e[0]
        b = self.wide(x) * (1 + e[1]) + e[0]
        c = self.called(x) * (1 + e[1]) + e[0]
        d = self.own_body(x) * (1 + e[1]) + e[0]
        f = self.string(x) * (1 + e[1]) + e[0]
        g = self.counts(x) * (1 + e[1]) + e[0]
        return a, b, c, d, f, g, self.channel(x) * (1 + e[1]) + e[0]


class Nested(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = FloatLayerNorm(dim)

    def forward(self, x, e):
        def feed_forward(x, e):
            return self.norm(x).float() * (1 + e[1]) + e[0]

        return feed_forward(x, e)

    def of_another(self, x, e, other):
        self = other

        def feed_forward(x, e):
            return self.norm(x).float() * (1 + e[1]) + e[0]

        return feed_forward(x, e)

    def of_each(self, x, e, others):
        for self in others:

            def feed_forward(x, e):
                return self.norm(x).float() * (1 + e[1]) + e[0]

            x = feed_forward(x, e)
        return x

    def handed_on(self, x, e, other):
        def part(self):
            def feed_forward(x, e):
                return self.norm(x).float() * (1 + e[1]) + e[0]

            return feed_forward(x, e)

        return part(other)
