from unittest import mock

import flash_attn


def attend(q, k, v, other):
    with mock.patch("flash_attn.flash_attn_func", other):
        return flash_attn.flash_attn_func(q, k, v)
