import blocks
import torch


def outputs():
    found = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        x = torch.randn(2, 5, 16).to(dtype)
        modulators = [torch.randn(2, 16).to(dtype) for _ in range(4)]
        made = [blocks.LuminaLike(16), blocks.ZImageLike(16), blocks.LTXLike(16)]
        found += [block.to(dtype).eval()(x, *modulators) for block in made]
        columns = blocks.Columns(16).to(dtype).eval()(torch.randn(2, 16, 5).to(dtype), modulators[0])
        found += [columns, torch.tensor(columns.stride())]
        found.append(blocks.Twice(16).to(dtype).eval()(x, modulators[0]))
        found.append(blocks.Replaced(16).to(dtype).eval()(x, modulators[0]))
    return found
