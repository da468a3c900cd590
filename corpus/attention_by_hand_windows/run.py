import attention
import torch


def outputs():
    out = []
    x = torch.randn(6, 9, 16)
    masks = torch.where(torch.rand(3, 9, 9) > 0.4, 0.0, -100.0)
    for name in ("WindowAttention", "OneSoftmax", "WithoutBias", "ByEquation"):
        model = getattr(attention, name)(16, 3, 2).eval()
        out += [model(x), model(x, masks), model(x, masks[:1]), model(x[:3], masks)]
    for name in ("AlwaysMasked", "OfImages"):
        model = getattr(attention, name)(16, 3, 2).eval()
        out.append(model(x, masks))
    out.append(attention.Counted(16, 3, 2).eval()(x, masks, 3))
    out.append(attention.Boolean(16, 3, 2).eval()(x, torch.arange(27).view(3, 9) % 4))
    return out
