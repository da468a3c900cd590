import clip
import detr
import pool
import refused
import torch
from torch import nn


def outputs():
    found = []
    hidden = torch.triu(torch.ones(6, 6), 1).bool()
    padding = torch.tensor([[False] * 4 + [True] * 2, [False] * 6])
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        x, memory = torch.randn(6, 2, 16).to(dtype), torch.randn(6, 2, 16).to(dtype)
        pos = torch.randn(6, 1, 16).to(dtype)
        causal = torch.zeros(6, 6).masked_fill(hidden, float("-inf"))
        for mask in (None, causal):
            found.append(clip.Block(16, 4, mask).to(dtype).eval()(x))
        found.append(clip.Pool(16, 24, 2).to(dtype).eval()(torch.randn(2, 5, 24).to(dtype)))
        pooled = pool.AttentionPool(16, 4).to(dtype).eval()
        found += [pooled(torch.randn(2, 16, 3, 4).to(dtype)), pooled.explained(x), pooled.attend(x, True)[1]]
        decoder = detr.DecoderLayer(16, 4).to(dtype).eval()
        found.append(decoder(x, memory, pos, pos))
        found.append(decoder(x, memory, pos, pos, hidden, padding))
        each = hidden.repeat(8, 1, 1)
        for mask in (hidden, each):
            found.append(detr.EncoderLayer(16, 4).to(dtype).eval()(x.transpose(0, 1), mask, padding))
        explained = refused.Explained(16, 4).to(dtype).eval()
        found += [*explained(x), *explained.pair(x), explained.per_head(x)]
        given = nn.MultiheadAttention(16, 2, batch_first=True)
        found.append(refused.Own(16, 4, given).to(dtype).eval()(x))
        found.append(decoder.state_dict()["self_attn.in_proj_weight"])
    return found
