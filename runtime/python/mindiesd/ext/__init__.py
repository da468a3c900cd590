"""What goes beyond the published API: the general forms that migrated code calls.

Inference only. Bad arguments raise ``mindiesd.utils.ParametersInvalid``. Arithmetic is float32 at
least, whatever the operands' types.
"""

from .attention import attention_forward, attention_forward_varlen
from .modules import (
    FlashCrossAttention,
    FlashSelfAttention,
    TypedRMSNorm,
    layernorm_scale_shift,
)
from .norm import RMSNorm, rms_norm
from .rotary import rotary_angles, rotary_complex, rotary_matrix, rotary_position_embedding
from .softmax import softmax

__all__ = [
    "FlashCrossAttention",
    "FlashSelfAttention",
    "RMSNorm",
    "TypedRMSNorm",
    "attention_forward",
    "attention_forward_varlen",
    "layernorm_scale_shift",
    "rms_norm",
    "rotary_angles",
    "rotary_complex",
    "rotary_matrix",
    "rotary_position_embedding",
    "softmax",
]
