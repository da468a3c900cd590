import torch
from models import processors
from models.attention import Attention
from models.heirs import Heir, exchange
from torch import nn


def drawn(attn, dtype):
    for parameter in attn.parameters():
        nn.init.normal_(parameter, std=0.3)
    return attn.to(dtype).eval()


def outputs():
    found = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        x, context = torch.randn(2, 5, 64).to(dtype), torch.randn(2, 7, 48).to(dtype)
        angle = torch.rand(12, 8) * 6
        turns = torch.polar(torch.ones(12, 8), angle)
        batch = turns[None, :5]
        halves = [torch.cat((t, t), dim=-1)[:5, None].to(dtype) for t in (angle.cos(), angle.sin())]

        def made(kind, processor, added=None, dtype=dtype):
            return drawn(Attention(64, 4, kind, added, processor), dtype)

        for kind in (None, "layer_norm", "fp32_layer_norm", "rms_norm", "l2"):
            lumina = made(kind, processors.LuminaLike())
            found += [lumina(x, batch), lumina(x)]
            qwen = made(kind, processors.QwenLike(), 48)
            found += [qwen(x, context, (turns[:5], turns[5:])), qwen(x, context)]
            found.append(made(kind, processors.Halves())(x, halves))
            flagged = made(kind, processors.Flagged())
            found += [flagged(x, halves, True), flagged(x, turns[:5], False)]
            places, strided = made(kind, processors.Strided())(x, turns[None, :1])
            found += [torch.tensor(places), strided]
        # A norm that does more than it shows, and one of another type.
        hooked = made("rms_norm", processors.LuminaLike())
        hooked.norm_q.register_forward_hook(lambda module, args, result: result * 2)
        found.append(hooked(x, batch))
        mixed = made("rms_norm", processors.LuminaLike())
        mixed.norm_q.float()
        found.append(mixed(x, batch))
        for processor in (processors.OfHeirs, processors.OfTwoKinds, processors.Exchanged, processors.Unannotated):
            found.append(made("rms_norm", processor())(x, batch))
        found.append(drawn(Heir(64, 4, processors.OfHeirs()), dtype)(x, batch))
        found.append(drawn(exchange(made("rms_norm", processors.Exchanged())), dtype)(x, batch))
        other = made("l2", None)
        found.append(made("rms_norm", processors.Rebound())(x, batch, other))
    return found
