import mindiesd.ext
import torch.nn.functional

fused = torch.nn.functional


def one_a_line(q, k, v, mask):
    out = mindiesd.ext.attention_forward(q,
                                         k,
                                         v,
                                         attn_mask=mask,
                                         head_first=True)
    return out.flatten(1)


def filled(query, key, value, attention_mask):
    out = mindiesd.ext.attention_forward(query, key, value,
                                         # added to the scores
                                         attn_mask=attention_mask.view(
                                             1, 1, 1, -1
                                         ), is_causal=False, head_first=True)
    return out.flatten(1)


def text_below(q, k, v):
    print(mindiesd.ext.attention_forward(q, k, v,
                                         scale=float("""
                                                           0.5"""),
                                         head_first=True))


def hanging(q, k, v, mask):
    return mindiesd.ext.attention_forward(
        q, k, v,
        attn_mask=mask,
        head_first=True,
    )
