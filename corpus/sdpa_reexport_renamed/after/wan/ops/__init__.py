"""What the models use of torch, in one place."""

from .kernels import *
from .kernels import attention as fused_attention
