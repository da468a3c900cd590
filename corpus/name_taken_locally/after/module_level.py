import mindiesd.ext as _mindiesd_ext

mindiesd = 2.0


class Block:
    def act(self, x):
        uses_mindiesd = mindiesd
        return _mindiesd_ext.silu(x) + uses_mindiesd


def each(items):
    return [_mindiesd_ext.gelu(mindiesd) for mindiesd in items]
