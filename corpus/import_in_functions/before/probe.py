"""Torch may be missing; the runtime's absence must not pass for that."""


def gelu(x):
    try:
        from torch.nn import functional as F

        return F.gelu(x)
    except ImportError:
        return None
