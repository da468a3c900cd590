import mlp
import refused
import torch


class Adapter(torch.nn.Linear):
    """A layer that is not plain: it is called."""

    def forward(self, x):
        return super().forward(x) + x.mean(-1, keepdim=True)


def outputs():
    found = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        x = torch.randn(2, 5, 16).to(dtype)
        made = [mlp.Functional(16), mlp.Layers(16), mlp.Configured(16), mlp.Configured(16, "tanh")]
        made += [mlp.OnAnyDevice(16), refused.ByAMethod(16), refused.Other(16)]
        made += [mlp.SingleStream(16), refused.Exact(16), refused.Convolution(16), refused.Twice(16)]
        adapted = mlp.Functional(16)
        adapted.up = Adapter(16, 64)
        found += [module.to(dtype).eval()(x) for module in (*made, adapted)]
    return found
