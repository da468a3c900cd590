"""What goes beyond the published API: the general forms that migrated code calls.

Where a derivative is wanted, torch code computes. Bad arguments raise
``mindiesd.utils.ParametersInvalid``. Arithmetic is float32 at least, whatever the operands' types.
"""

from .activation import GELU, SiLU, gated, gelu, glu, silu
from .along import layer_norm_along
from .attention import attention_forward, attention_forward_varlen
from .attention_lse import attention_varlen_with_lse, attention_with_lse
from .blocks import norm_scale_shift, residual, residual_norm
from .grid import rotary_grid
from .group import group_norm
from .heads import norm_rotary
from .images import upsample_nearest2x
from .int8 import Int8Linear, int8_linear, quantize_int8
from .joint import joint_heads
from .linear import linear_activation
from .modules import (
    FlashCrossAttention,
    FlashSelfAttention,
    TypedRMSNorm,
    layernorm_scale_shift,
)
from .multihead import (
    MultiheadAttention,
    multi_head_attention_forward,
    multihead_attention,
)
from .norm import RMSNorm, add_rms_norm, layer_norm, rms_norm
from .rotary import (
    qk_norm_rotary,
    rotary_angles,
    rotary_complex,
    rotary_matrix,
    rotary_position_embedding,
    rotary_qk,
)
from .softmax import softmax
from .streams import norm_cat
from .sums import weighted_sum

__all__ = [
    "FlashCrossAttention",
    "FlashSelfAttention",
    "GELU",
    "Int8Linear",
    "MultiheadAttention",
    "RMSNorm",
    "SiLU",
    "TypedRMSNorm",
    "add_rms_norm",
    "attention_forward",
    "attention_forward_varlen",
    "attention_varlen_with_lse",
    "attention_with_lse",
    "gated",
    "gelu",
    "glu",
    "group_norm",
    "int8_linear",
    "joint_heads",
    "layer_norm",
    "layer_norm_along",
    "layernorm_scale_shift",
    "linear_activation",
    "multi_head_attention_forward",
    "multihead_attention",
    "norm_cat",
    "norm_rotary",
    "norm_scale_shift",
    "qk_norm_rotary",
    "quantize_int8",
    "residual",
    "residual_norm",
    "rms_norm",
    "rotary_angles",
    "rotary_complex",
    "rotary_grid",
    "rotary_matrix",
    "rotary_position_embedding",
    "rotary_qk",
    "silu",
    "softmax",
    "upsample_nearest2x",
    "weighted_sum",
]
