"""Processors: the objects that they are handed are made in another file."""

import torch
from diffusers.models.embeddings import apply_rotary_emb

from .attention import Attention


def rotate(x, table, use_real=True, width=None):
    """Neighbours are the parts of a complex number; with use_real halves turn."""
    if use_real:
        cos, sin = table
        first, second = x.chunk(2, dim=-1)
        return (x * cos + torch.cat((-second, first), dim=-1) * sin).to(x.dtype)
    else:
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        table = table.unsqueeze(1)
        return torch.view_as_real(pairs * table).flatten(3).type_as(x)


class LuminaLike:
    """A norm or none, and complex tables."""

    def __call__(self, attn: Attention, hidden_states, rotary_emb=None):
        query = attn.to_q(hidden_states).view(hidden_states.shape[0], -1, 4, attn.head_dim)
        if attn.norm_q is not None:
            query = attn.norm_q(query)
        if rotary_emb is not None:
            query = apply_rotary_emb(query, rotary_emb, use_real=False)
        return query.view(hidden_states.shape[0], -1, 4 * attn.head_dim)


class QwenLike:
    """Each stream turns by itself, by a function of this file whose branch the call decides."""

    def __call__(self, attn: Attention, hidden_states, encoder_hidden_states, rotary_emb=None):
        img_query = attn.to_q(hidden_states).unflatten(-1, (-1, attn.head_dim))
        txt_query = attn.add_q_proj(encoder_hidden_states).unflatten(-1, (-1, attn.head_dim))
        if attn.norm_q is not None:
            img_query = attn.norm_q(img_query)
        if attn.norm_added_q is not None:
            txt_query = attn.norm_added_q(txt_query)
        if rotary_emb is not None:
            img_freqs, txt_freqs = rotary_emb
            img_query = rotate(img_query, img_freqs, use_real=False)
            txt_query = rotate(txt_query, txt_freqs, use_real=False)
        return torch.cat([txt_query, img_query], dim=1)


class Halves:
    """The same function's other branch, which is what it does by default."""

    def __call__(self, attn: Attention, hidden_states, rotary_emb):
        query = attn.to_q(hidden_states).unflatten(-1, (-1, attn.head_dim))
        if attn.norm_q is not None:
            query = attn.norm_q(query)
        query = rotate(query, rotary_emb)
        return torch.cat([query, query * 2], dim=1)


class Flagged:
    """What decides the branch is not known here."""

    def __call__(self, attn: Attention, hidden_states, rotary_emb, use_real):
        query = attn.to_q(hidden_states).unflatten(-1, (-1, attn.head_dim))
        if attn.norm_q is not None:
            query = attn.norm_q(query)
        query = rotate(query, rotary_emb, use_real)
        return torch.cat([query, query * 2], dim=1)


class OfHeirs:
    """A class of a third file inherits from the annotated one and has another norm."""

    def __call__(self, attn: Attention, hidden_states, rotary_emb):
        query = attn.to_q(hidden_states).unflatten(-1, (-1, attn.head_dim))
        query = attn.norm_q_inherited(query)
        query = apply_rotary_emb(query, rotary_emb, use_real=False)
        return torch.cat([query, query * 2], dim=1)


class OfTwoKinds:
    """One of the classes is no norm that is known."""

    def __call__(self, attn: Attention, hidden_states, rotary_emb):
        query = attn.to_q(hidden_states).unflatten(-1, (-1, attn.head_dim))
        query = attn.norm_q_mixed(query)
        query = apply_rotary_emb(query, rotary_emb, use_real=False)
        return torch.cat([query, query * 2], dim=1)


class Exchanged:
    """A function of a third file puts another norm there."""

    def __call__(self, attn: Attention, hidden_states, rotary_emb):
        query = attn.to_q(hidden_states).unflatten(-1, (-1, attn.head_dim))
        query = attn.norm_q_exchanged(query)
        query = apply_rotary_emb(query, rotary_emb, use_real=False)
        return torch.cat([query, query * 2], dim=1)


class Strided:
    """Heads before the sequence: without a norm the result lies as its operand, and a view reads it."""

    def __call__(self, attn: Attention, hidden_states, rotary_emb):
        query = attn.to_q(hidden_states).unflatten(-1, (-1, attn.head_dim)).transpose(1, 2)
        if attn.norm_q is not None:
            query = attn.norm_q(query)
        query = apply_rotary_emb(query, rotary_emb, use_real=False)
        return query.stride()[1], query


class Unannotated:
    """Nothing says what the object is."""

    def __call__(self, attn, hidden_states, rotary_emb):
        query = attn.to_q(hidden_states).unflatten(-1, (-1, attn.head_dim))
        query = attn.norm_q(query)
        query = apply_rotary_emb(query, rotary_emb, use_real=False)
        return torch.cat([query, query * 2], dim=1)


class Rebound:
    """The name no longer means the parameter."""

    def __call__(self, attn: Attention, hidden_states, rotary_emb, other):
        attn = other
        query = attn.to_q(hidden_states).unflatten(-1, (-1, attn.head_dim))
        query = attn.norm_q(query)
        query = apply_rotary_emb(query, rotary_emb, use_real=False)
        return torch.cat([query, query * 2], dim=1)
