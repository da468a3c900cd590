import mindiesd
from flash_attn import flash_attn_func


def attend(q, k, v):
    return flash_attn_func(q, k, v)


def attend_packed(q, kv):
    return mindiesd.attention_forward(q, kv[:, :, 0], kv[:, :, 1])
