import mindiesd.ext
import torch.nn as nn
from diffusers.models.normalization import RMSNorm
from transformers.models.gemma.modeling_gemma import GemmaRMSNorm


class Block(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.llama = mindiesd.RMSNorm(width, eps=eps)
        self.olmo = mindiesd.ext.RMSNorm(width, eps=1e-06)
        self.t5 = mindiesd.ext.TypedRMSNorm(width, eps=eps, result_type="weight")
        self.gemma = GemmaRMSNorm(width)
        self.diffusers = mindiesd.ext.TypedRMSNorm(
            width,
            eps=eps,
            elementwise_affine=True,
            result_type="weight",
        )
        self.pair = RMSNorm((2, width), eps)
        self.flash = mindiesd.ext.RMSNorm(width, eps=1e-05)
        self.apex = mindiesd.ext.RMSNorm(width, eps=1e-05)
