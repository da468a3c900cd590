import blocks
import refused
import rows
import torch


def outputs():
    found = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        x, y = torch.randn(2, 5, 16).to(dtype), torch.randn(2, 5, 16).to(dtype)
        modulators = [torch.randn(2, 16).to(dtype) for _ in range(6)]
        made = [
            (blocks.FluxLike(16), (x, *modulators)),
            (blocks.DiTLike(16), (x, modulators[0])),
            (blocks.DiTNamed(16), (x, modulators[0])),
            (blocks.PreNorm(16), (x,)),
            (blocks.Between(16), (x, y)),
            (refused.Called(16), (x, y)),
            (refused.Branch(16), (x, y)),
            (refused.Written(16), (x.clone(), y)),
            (refused.Chosen(16), (x, y)),
            (refused.Itself(16), (x, y)),
            (refused.OnlyNormed(16), (x, y)),
        ]
        found += [block.to(dtype).eval()(*operands) for block, operands in made]
        found.append(rows.Block(16).to(dtype)(rows.Rows(x[0]), modulators[0]).features)
        wan = blocks.WanLike(16).to(dtype).eval()
        for norm in (wan.norm1, wan.norm2, wan.norm3):
            norm.float()
        found.append(wan(x, torch.randn(2, 6, 16).to(dtype)))
    return found
