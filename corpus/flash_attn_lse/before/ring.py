import torch
import torch.nn.functional as F
from flash_attn import flash_attn_func, flash_attn_varlen_func


def merge(out, lse, block_out, block_lse):
    """out [B, S, N, D], lse [B, S, N, 1] and what a step adds to them."""
    block_lse = block_lse.transpose(-2, -1).unsqueeze(-1)
    if out is None:
        return block_out.float(), block_lse
    out = out - torch.sigmoid(block_lse - lse) * (out - block_out.float())
    return out, lse - F.logsigmoid(lse - block_lse)


def ring(q, keys, values, rank, causal=False):
    out = lse = None
    for step, (k, v) in enumerate(zip(keys, values)):
        if causal and step > rank:
            break
        block_out, block_lse, _ = flash_attn_func(
            q,
            k,
            v,
            dropout_p=0.0,
            causal=causal and step == rank,  # the last block is the own one
            return_attn_probs=True,
        )
        out, lse = merge(out, lse, block_out, block_lse)
    return out.to(q.dtype), lse.squeeze(-1).transpose(-2, -1)


def packed(q, k, v, cu_q, cu_k, longest):
    out, lse, _ = flash_attn_varlen_func(
        q, k, v, cu_q, cu_k, longest, longest, window_size=(128, 0), return_attn_probs=True
    )
    return out, lse


def for_a_plot(q, k, v):
    out, lse, probabilities = flash_attn_func(q, k, v, return_attn_probs=True)
    return out, probabilities


def as_one(q, k, v):
    results = flash_attn_func(q, k, v, return_attn_probs=True)
    return results[0], results[1]


def if_wanted(q, k, v, wanted):
    return flash_attn_func(q, k, v, return_attn_probs=wanted)
