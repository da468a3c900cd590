import torch
import torch.nn as nn
import torch.nn.functional as F


class FloatLayerNorm(nn.LayerNorm):
    def __init__(self, dim, eps=1e-6, elementwise_affine=False):
        super().__init__(dim, elementwise_affine=elementwise_affine, eps=eps)

    def forward(self, x):
        r"""x: [B, L, C]"""
        return super().forward(x.float()).type_as(x)


class LayerNormInThreeLines(nn.LayerNorm):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = x.dtype
        out = super().forward(x.to(torch.float32))
        return out.to(kept)


class LayerNormByFunction(nn.LayerNorm):
    def forward(self, inputs):
        kept = inputs.dtype
        return F.layer_norm(
            inputs.float(),
            self.normalized_shape,
            self.weight.float() if self.weight is not None else None,
            self.bias.float() if self.bias is not None else None,
            self.eps,
        ).to(kept)


# None of these merely casts.
class LayerNormOfTwice(nn.LayerNorm):
    def forward(self, x):
        return super().forward(2 * x.float()).type_as(x)


class LayerNormKeptWide(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.float())


class LayerNormCalledOtherwise(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.float()).type_as(x)

    def __call__(self, x):
        return self.forward(x) + 1


class LayerNormWithItsOwnBody(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.float()).type_as(x)

    forward = nn.LayerNorm.forward


class LayerNormOfAChannel(nn.LayerNorm):
    def forward(self, x):
        out = super().forward(x.float())
        out[..., 0] = 0
        return out.type_as(x)


class LayerNormBehindAString(nn.LayerNorm):
    """This one's own call."""; __call__ = lambda self, x: self.forward(x) + 1  # noqa

    def forward(self, x):
        return super().forward(x.float()).type_as(x)


class LayerNormThatCounts(nn.LayerNorm):
    seen = 0

    def forward(self, x):
        self.count(x)
        return super().forward(x.float()).type_as(x)

    def count(self, x):
        self.seen += len(x)
