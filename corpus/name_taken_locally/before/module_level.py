import torch.nn.functional as F

mindiesd = 2.0


class Block:
    def act(self, x):
        uses_mindiesd = mindiesd
        return F.silu(x) + uses_mindiesd


def each(items):
    return [F.gelu(mindiesd) for mindiesd in items]
