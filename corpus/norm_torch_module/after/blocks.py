import mindiesd.ext
import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.norm1 = mindiesd.ext.RMSNorm(width, eps=eps)
        self.norm2 = mindiesd.ext.RMSNorm(width)
        self.norm3 = mindiesd.ext.RMSNorm(width, eps=1e-6, elementwise_affine=False)
        self.norm4 = mindiesd.ext.RMSNorm(
            normalized_shape=(width,),
            eps=1e-6,
            elementwise_affine=True,
        )
        self.norm5 = mindiesd.ext.RMSNorm(width, eps=1e-6, dtype=torch.float32)

    def forward(self, x):
        for norm in (self.norm1, self.norm2, self.norm3, self.norm4, self.norm5):
            x = x + norm(x)
        return x
