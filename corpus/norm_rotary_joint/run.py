import attention
import torch
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
        pairs = [t.repeat_interleave(2, dim=-1) for t in (angle.cos(), angle.sin())]
        halves = [torch.cat((t, t), dim=-1) for t in (angle.cos(), angle.sin())]

        def made(processor, added=48, dtype=dtype):
            return drawn(attention.JointAttention(64, 4, added, processor), dtype)

        flux = made(attention.FluxLike())
        found += [flux(x, context, pairs), flux(x, context, torch.stack(pairs)), flux(x, context)]
        # A norm that does more than it shows, and one of another type.
        flux.norm_added_q.register_forward_hook(lambda module, args, result: result * 2)
        found.append(flux(x, context, pairs))
        alone = made(attention.FluxLike(), None)
        found += [alone(x, None, [t[:5] for t in pairs]), alone(x)]
        mixed = made(attention.FluxLike())
        mixed.norm_q.float()
        found.append(mixed(x, context, pairs))
        found.append(made(attention.Always())(x, context, halves))
        turns = torch.polar(torch.ones(1, 5, 8), angle[None, :5])
        for kind in (None, "layer_norm", "rms_norm", "l2"):
            lumina = drawn(attention.ChosenAttention(64, 4, kind, attention.LuminaLike()), dtype)
            found += [lumina(x, turns), lumina(x)]
            lumina.processor = attention.ChosenAlways()
            found.append(lumina(x, turns))
        chosen = drawn(attention.ChosenAttention(64, 4, "rms_norm", attention.InATry()), dtype)
        found.append(chosen(x, turns))
        for processor in (
            attention.ReadBetween, attention.CopiedBetween, attention.TwoNames, attention.Written,
            attention.OneNormReadElsewhere, attention.AnotherCondition,
        ):  # fmt: skip
            found.append(made(processor())(x, context, pairs))
    return found
