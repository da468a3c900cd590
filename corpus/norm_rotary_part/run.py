import attention
import torch
from torch import nn


def drawn(model, dtype):
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model.to(dtype).eval()


def pairs(length, halves=False):
    angle = torch.rand(length, 8) * 6
    if halves:
        return tuple(torch.cat((t, t), dim=-1) for t in (angle.cos(), angle.sin()))
    return tuple(t.repeat_interleave(2, dim=-1) for t in (angle.cos(), angle.sin()))


def outputs():
    found = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        x, context = torch.randn(2, 5, 64).to(dtype), torch.randn(2, 3, 64).to(dtype)

        def made(kind, added=None, dtype=dtype):
            return drawn(attention.Attention(64, 4, kind, added, attention.HunyuanVideoLike()), dtype)

        for kind in (None, "layer_norm", "rms_norm"):
            single, double = made(kind), made(kind, 64)
            for model in (single, double):
                found += [model(x, context, pairs(5)), model(x, None, pairs(5)), model(x, context), model(x)]
        single.norm_q.register_forward_hook(lambda module, args, result: result * 2)
        found.append(single(x, context, pairs(5)))
        for text in (2, 4, 0, -3):
            rows, plain = drawn(attention.Rows(64, 4), dtype), drawn(attention.HeadsFirst(64, 4), dtype)
            length = x[:, text:].shape[1]
            found += [rows(x, text, pairs(length, True)), rows(x, None, pairs(5, True)), plain(x, text, pairs(length))]
        turns = torch.polar(torch.ones(1, 5, 8), torch.rand(1, 5, 8) * 6)
        for text in (2, 4):
            found.append(drawn(attention.ComplexTables(64, 4), dtype)(x, text, turns[:, : 5 - text]))
        found.append(drawn(attention.OtherPlaces(64, 4), dtype)(x, 2, pairs(3)))
        found.append(drawn(attention.OtherDimension(64, 4), dtype)(x[:, :4], 2, pairs(2)))
        for kind in ("OtherTensor", "ReadBeside", "Written", "NormWritten", "PartReadBeside", "EitherReads"):
            found.append(drawn(getattr(attention, kind)(64, 4), dtype)(x, 2, pairs(2)))
        both = drawn(attention.BothTurn(64, 4), dtype)
        found += [both(x, 2, pairs(5)), both(x, 3, pairs(5)), drawn(attention.EitherReads(64, 4), dtype)(x, 3, pairs(5))]
        either = drawn(attention.EitherTurns(64, 4), dtype)
        found += [either(x, 2, pairs(5)), either(x, 2, pairs(5), half=True), either(x, 2, None)]
    return found
