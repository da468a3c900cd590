from typing import *

from flash_attn import flash_attn_varlen_func


def packed(query, key, value, offsets, lengths):
    return flash_attn_varlen_func(
        query, key, value, offsets, offsets, max(lengths), max(lengths)
    )
