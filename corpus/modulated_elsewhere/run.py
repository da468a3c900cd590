import blocks
import torch


def outputs():
    block = blocks.Block(8).eval()
    x, shift, scale = torch.randn(2, 3, 8), torch.randn(2, 8), torch.randn(2, 8)
    wide = shift[:, None], scale[:, None]
    return [
        block(x, shift, scale), block.by_name(x, shift, scale), block.scaled(x, scale),
        block.kept(x, *wide), block.read_twice(x, shift, scale), block.remembered(x, *wide),
        *block.many(x, *wide), block.in_order(x, [scale, shift]), block.of_the_walrus(x, shift, scale),
        block.unread(x, wide[0], scale), block.unread_here(x, wide[0], scale),
    ]
