"""Torch may be missing; the runtime's absence must not pass for that."""

import mindiesd.ext


def gelu(x):
    try:
        from torch.nn import functional as F

        return mindiesd.ext.gelu(x)
    except ImportError:
        return None
