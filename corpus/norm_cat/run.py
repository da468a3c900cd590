import attention
import torch
from torch import nn


def drawn(model, dtype):
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model.to(dtype).eval()


def outputs():
    found = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        x, context = torch.randn(2, 5, 64).to(dtype), torch.randn(2, 7, 48).to(dtype)

        def made(kind, added=48, dtype=dtype):
            processor = attention.StableDiffusion3Like()
            return drawn(attention.Attention(64, 4, kind, added, processor), dtype)

        for kind in (None, "layer_norm", "rms_norm"):
            model = made(kind)
            found += [model(x, context), model(x), made(kind, None)(x)]
        # A norm that does more than it shows, and one that is left out afterwards.
        model = made("rms_norm")
        model.norm_added_q.register_forward_hook(lambda module, args, result: result * 2)
        found.append(model(x, context))
        model = made("rms_norm")
        model.norm_added_q = None
        found.append(model(x, context))
        context = torch.randn(2, 7, 64).to(dtype)
        for kind in (
            attention.Always, attention.HeadsFirst, attention.Turned, attention.Rows,
            attention.LastDimension, attention.ReadBeside, attention.Written, attention.WeightWritten,
            attention.OneStreamWritten, attention.ThreeStreams, attention.Unknown,
        ):  # fmt: skip
            model = drawn(kind(64, 4), dtype)
            found += [model(x, context), model(x[:, :0], x), model(x, x[:, :1])] if kind is attention.Always else []
            found.append(model(x, x if kind is attention.LastDimension else context))
    return found
