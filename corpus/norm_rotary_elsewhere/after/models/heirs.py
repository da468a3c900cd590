"""An heir of the attention object with a norm of its own, and what exchanges a norm from outside."""

from .attention import Attention, Doubled


class Heir(Attention):
    def __init__(self, width, heads, processor=None):
        super().__init__(width, heads, "rms_norm", None, processor)
        self.norm_q_inherited = Doubled(width // heads)


def exchange(attn):
    attn.norm_q_exchanged = Doubled(attn.head_dim)
    return attn
