from flash_attn import flash_attn_func, flash_attn_kvpacked_func


def attend(q, k, v):
    return flash_attn_func(q, k, v)


def attend_packed(q, kv):
    return flash_attn_kvpacked_func(q, kv)
