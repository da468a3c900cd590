import attention
import torch
from torch import nn


def made(processor, kind, dtype):
    model = attention.Joint(64, 4, kind, processor)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model.to(dtype).eval()


def turns(length):
    angle = torch.rand(length, 8) * 6
    return torch.polar(torch.ones_like(angle), angle)


def tables(length, halves=True):
    angle = torch.rand(length, 8) * 6
    if halves:
        return tuple(torch.cat((t, t), dim=-1) for t in (angle.cos(), angle.sin()))
    return tuple(t.repeat_interleave(2, dim=-1) for t in (angle.cos(), angle.sin()))


def outputs():
    return [shown for dtype in (torch.float32, torch.bfloat16, torch.float16) for shown in of_type(dtype)]


def of_type(dtype):
    """Each result as exact as the model, whose type a wider norm leaves, and the bits of its own type."""
    for result in results(dtype):
        for part in result if isinstance(result, tuple) else (result,):
            if part is not None:
                yield from (part.to(dtype), torch.tensor(torch.finfo(part.dtype).bits))


def results(dtype):
    found = []
    x, context = torch.randn(2, 5, 64).to(dtype), torch.randn(2, 7, 64).to(dtype)
    both = turns(5), turns(7)
    for kind in (None, "rms_norm", "layer_norm", "l2"):
        qwen = made(attention.QwenLike(), kind, dtype)
        found += [qwen(x, context, both), qwen(x, context), qwen(x, context[:, :1], (both[0], both[1][:1]))]
    # A norm that does more than it shows, one of another type, and one that is left out afterwards.
    qwen = made(attention.QwenLike(), "rms_norm", dtype)
    qwen.norm_added_q.register_forward_hook(lambda module, args, result: result * 2)
    found.append(qwen(x, context, both))
    qwen.norm_k.float()
    found += [qwen(x, context, both), qwen(x, context)]
    qwen.norm_added_k = None
    found.append(qwen(x, context, both))
    without = made(attention.WithoutNames(), "rms_norm", dtype)
    found += [without(x, context, both), without(x, context)]
    found.append(made(attention.HeadsFirst(), "rms_norm", dtype)(x, context, (tables(5), tables(7))))
    some = made(attention.OneTurnsAlways(), "rms_norm", dtype)
    found += [some(x, context, both), some(x, context, (None, both[1]))]
    apart = made(attention.TwoConditions(), "rms_norm", dtype)
    found += [apart(x, context, both), apart(x, context, (None, both[1])), apart(x, context, (both[0], None))]
    modes = made(attention.TwoModes(), "rms_norm", dtype)
    found.append(modes(x, context, (tables(5, False), tables(7))))
    for processor in (
        attention.ByTheLibrary, attention.NormInsideTheRotation, attention.ParameterInsideTheRotation,
        attention.LastDimension, attention.ReadBeside, attention.TablesWritten, attention.TurnedWritten,
        attention.NameUsedAgain,
    ):  # fmt: skip
        own = tuple(t[None] for t in both) if processor is attention.ByTheLibrary else both
        found.append(made(processor(), "rms_norm", dtype)(x, context, own))
    found.append(made(attention.NameUsedAgain(), "rms_norm", dtype)(x, context, None))
    return found
