from transformers.models.mistral import modeling_mistral
from transformers.models.qwen2.modeling_qwen2 import Qwen2RMSNorm


def make(width):
    return Qwen2RMSNorm(width)


def decayed(module):
    """Weights of norms do not decay."""
    return [
        name
        for name, m in module.named_modules()
        if not isinstance(m, (Qwen2RMSNorm, modeling_mistral.MistralRMSNorm))
    ]
