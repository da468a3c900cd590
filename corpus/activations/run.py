import mlp
import torch


def outputs():
    x = torch.randn(3, 5, 16)
    return [
        mlp.QuickGELU()(x),
        mlp.stable_quick_gelu(x),
        mlp.GEGLU(16, 8)(x),
        mlp.SwiGLU()(x),
        mlp.MLP(16)(x),
        mlp.functions(x),
        mlp.ACTIVATIONS["gelu"](x),
        mlp.over_its_operand(x.clone()),
        mlp.two_tensors(x, x + 1),
    ]
