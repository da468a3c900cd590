import torch
import torch.nn as nn
import torch.nn.functional as F


class Temperature(nn.Module):
    """A factor for each head, learnt."""

    def __init__(self, heads):
        super().__init__()
        self.temperature = nn.Parameter(torch.ones(heads, 1, 1))

    def forward(self, q, k, v):
        attn = (q @ k.transpose(-2, -1)) * self.temperature
        return attn.softmax(dim=-1) @ v


def weights_returned(q, k, v):
    weights = (q @ k.transpose(-2, -1)).softmax(dim=-1)
    return weights @ v, weights


def dropped(q, k, v):
    """Without training= it drops at inference too."""
    weights = F.dropout((q @ k.transpose(-2, -1)).softmax(dim=-1), p=0.1)
    return weights @ v


def filled(q, k, v, hidden):
    """A number that scores may come near is no mask: what is hidden keeps some weight."""
    scores = q @ k.transpose(-2, -1)
    scores = scores.masked_fill(hidden, -50.0)
    return scores.softmax(dim=-1) @ v


def boolean_added(q, k, v, keep):
    scores = q @ k.transpose(-2, -1) + (keep > 0)
    return scores.softmax(dim=-1) @ v


def in_float32(q, k, v):
    scores = q.float() @ k.float().transpose(-2, -1)
    return scores.softmax(dim=-1).to(v.dtype) @ v


def kept_in_float32(q, k, v):
    weights = F.softmax(q @ k.transpose(-2, -1), dim=-1, dtype=torch.float32)
    return weights @ v.float()


def other_axis(q, k, v):
    """The queries compete for a key, not the keys for a query."""
    return (q @ k.transpose(-2, -1)).softmax(dim=-2) @ v


def gated(q, k, v, gate):
    return ((q @ k.transpose(-2, -1)).softmax(dim=-1) * gate) @ v


def linear_attention(q, k, v):
    """No product before the softmax: not even a candidate."""
    return q.softmax(dim=-1) @ (k.softmax(dim=-2).transpose(-2, -1) @ v)


def mask_of_the_scores_shape(q, k, v):
    """The product would be computed still, for its shape."""
    scores = q @ k.transpose(-2, -1)
    later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
    return scores.masked_fill(later, float("-inf")).softmax(dim=-1) @ v


def mask_of_the_equations_shape(q, k, v):
    scores = torch.einsum("bhid,bhjd->bhij", q, k)
    rows, columns = scores.shape[-2:]
    later = torch.ones(rows, columns, dtype=torch.bool, device=q.device).triu(1)
    weights = scores.masked_fill(later, float("-inf")).softmax(dim=-1)
    return torch.einsum("bhij,bhjd->bhid", weights, v)
