import blocks
import torch


def outputs():
    found = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        x, gate = torch.randn(2, 5, 16).to(dtype), torch.randn(2, 5, 16).to(dtype)
        for made in (blocks.SwiGLU(16, 24), blocks.GeGLU(16, 24), blocks.Layers(16, 24)):
            result = made.to(dtype).eval()(x)
            found += result if isinstance(result, tuple) else [result]
        hooked = blocks.Layers(16, 24).to(dtype).eval()
        hooked.act.register_forward_hook(lambda module, args, result: result + 1)
        found += hooked(x)
        found.append(blocks.Wide()(x))
        for y in (gate, gate[:, :1], gate[0, 0], torch.arange(16)):
            found += [blocks.swiglu(x, y), blocks.in_float32(x, y)]
        found.append(blocks.by_channels(x, gate[:, 0]))
        columns = gate.transpose(1, 2).contiguous().transpose(1, 2)
        found += [torch.tensor(blocks.swiglu(a, b).stride()) for a, b in ((x, columns), (columns, x))]
        found.append(blocks.viewed(x.transpose(1, 2).contiguous().transpose(1, 2), gate))
        found += [blocks.Unknown()(x.clone()), *blocks.kept(x, gate), blocks.by_a_number(x)]
        found.append(blocks.scripted(x, gate))
    return found
