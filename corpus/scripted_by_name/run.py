import activations
import torch


def outputs():
    x, cos, sin = torch.randn(2, 3, 8), torch.randn(3, 8), torch.randn(3, 8)
    block = activations.Block().eval()
    return [
        activations.quick_gelu(x),
        activations.gated(x, x),
        block(x, cos, sin),
        activations.left_to_python(x),
    ]
