import contextlib

import mindiesd

with contextlib.suppress(ImportError):
    from flash_attn import flash_attn_func


class Names:
    from torch.nn.functional import gelu


def attend(q, k, v):
    return mindiesd.attention_forward(q, k, v)
