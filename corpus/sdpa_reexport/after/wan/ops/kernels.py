from torch.nn.functional import scaled_dot_product_attention, silu

__all__ = ["scaled_dot_product_attention", "silu"]
