import torch.nn as nn
from apex.normalization import FusedRMSNorm
from diffusers.models.normalization import RMSNorm
from flash_attn.ops.rms_norm import RMSNorm as FlashRMSNorm
from transformers.models.gemma.modeling_gemma import GemmaRMSNorm
from transformers.models.llama.modeling_llama import LlamaRMSNorm
from transformers.models.olmo2.modeling_olmo2 import Olmo2RMSNorm
from transformers.models.t5.modeling_t5 import T5LayerNorm


class Block(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.llama = LlamaRMSNorm(width, eps=eps)
        self.olmo = Olmo2RMSNorm(width)
        self.t5 = T5LayerNorm(width, eps=eps)
        self.gemma = GemmaRMSNorm(width)
        self.diffusers = RMSNorm(width, eps=eps, elementwise_affine=True)
        self.pair = RMSNorm((2, width), eps)
        self.flash = FlashRMSNorm(width)
        self.apex = FusedRMSNorm(width, memory_efficient=True)
