import torch
import torch.nn.functional as F


@torch.jit.script
def attend(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


@torch.jit.script
class Layer:
    def __init__(self, weight: torch.Tensor):
        self.weight = weight

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor):
        return F.scaled_dot_product_attention(q, k, v)

    def feed(self, x: torch.Tensor):
        return F.gelu(F.linear(x, self.weight))
