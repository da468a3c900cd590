import mindiesd
import torch.nn as nn
from diffusers.models.normalization import RMSNorm
from transformers.models.gemma.modeling_gemma import GemmaRMSNorm


class Block(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.llama = mindiesd.RMSNorm(width, eps=eps)
        self.olmo = mindiesd.RMSNorm(width)
        self.t5 = mindiesd.RMSNorm(width, eps=eps)
        self.gemma = GemmaRMSNorm(width)
        self.diffusers = mindiesd.RMSNorm(width, eps=eps)
        self.pair = RMSNorm((2, width), eps)
        self.flash = mindiesd.RMSNorm(width, eps=1e-05)
        self.apex = mindiesd.RMSNorm(width, eps=1e-05)
