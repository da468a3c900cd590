import attention
import torch


def outputs():
    found = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        angle = torch.rand(1, 5, 1, 8) * 6
        halves = [torch.cat((t, t), dim=-1).to(dtype) for t in (angle.cos(), angle.sin())]
        pairs = [t.repeat_interleave(2, dim=-1) for t in (angle.cos(), angle.sin())]
        x, context = torch.randn(2, 5, 64).to(dtype), torch.randn(2, 7, 64).to(dtype)

        def made(processor, width=64, dtype=dtype):
            attn = attention.Attention(64, 4, width, processor).to(dtype)
            for norm in (attn.norm_q, attn.norm_k):
                torch.nn.init.normal_(norm.weight)
            return attn.eval()

        wan = made(attention.WanLike())
        found += [wan(x, None, pairs), wan(x, context), wan(x, x, tuple(pairs))]
        # A norm that does more than it shows.
        wan.norm_q.register_forward_hook(lambda module, args, result: result * 2)
        found.append(wan(x, None, pairs))
        found.append(made(attention.Always(), 16)(x, None, halves))
        for processor in (attention.CastFirst, attention.ComputedFirst):
            found += [made(processor(), 16)(x, None, halves), made(processor(), 16)(x)]
        typed = attention.Typed(64, 4).to(dtype).eval()
        for turned in typed(x, *halves):
            found += [turned, torch.tensor(turned.stride())]
        without = made(attention.WithoutTables())
        found += [without(x), without(x, None, halves)]
        flat = [t.repeat(1, 1, 1, 4).flatten(2) for t in pairs]
        ltx = made(attention.LTXLike())
        found += [ltx(x), ltx(x, None, flat), ltx(x, None, torch.stack(flat))]
        found.append(made(attention.TablesOfAnyKind())(x, None, iter(flat)))
        for processor in (
            attention.NormReadElsewhere, attention.Written, attention.OperandWritten, attention.AnotherCondition,
            attention.InALoop, attention.Captured, attention.OtherSplit,
        ):  # fmt: skip
            found.append(made(processor())(x, None, [t.squeeze(0) for t in halves]))
    return found
