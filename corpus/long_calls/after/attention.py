import mindiesd.ext


def causal(query, key, value, mask, causal):
    return mindiesd.ext.attention_forward(
        query,
        key,
        value,
        attn_mask=mask,
        is_causal=causal,
        head_first=True,
    )


def windowed(q, k, v, window):
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        window_size=(window, 0),
        softcap=50.0,
        causal_alignment="bottom_right",
    )
