import torch.nn.functional

fused = torch.nn.functional


def one_a_line(q, k, v, mask):
    out = torch.nn.functional.scaled_dot_product_attention(q,
                                                           k,
                                                           v,
                                                           attn_mask=mask,
                                                           dropout_p=0.0)
    return out.flatten(1)


def filled(query, key, value, attention_mask):
    out = torch.nn.functional.scaled_dot_product_attention(query, key, value,
                                                           # added to the scores
                                                           attention_mask.view(
                                                               1, 1, 1, -1
                                                           ), dropout_p=0.0, is_causal=False)
    return out.flatten(1)


def text_below(q, k, v):
    print(torch.nn.functional.scaled_dot_product_attention(q, k, v,
                                                           scale=float("""
                                                           0.5""")))


def hanging(q, k, v, mask):
    return fused.scaled_dot_product_attention(
        q, k, v,
        attn_mask=mask,
        dropout_p=0.0,
    )
