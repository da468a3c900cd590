from torch.nn.functional import scaled_dot_product_attention as attention
from torch.nn.functional import silu

__all__ = ["attention", "silu"]
