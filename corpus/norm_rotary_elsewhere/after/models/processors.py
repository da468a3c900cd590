"""Processors: the objects that they are handed are made in another file."""

import mindiesd.ext
import torch

from .attention import Attention


def rotate(x, table, use_real=True, width=None):
    """Neighbours are the parts of a complex number; with use_real halves turn."""
    if use_real:
        cos, sin = table
        return mindiesd.ext.rotary_position_embedding(
            x,
            cos,
            sin,
            rotated_mode="rotated_chunks",
            result_type="promoted",
        ).to(x.dtype)
    else:
        table = table.unsqueeze(1)
        return mindiesd.ext.rotary_complex(x, table)


class LuminaLike:
    """A norm or none, and complex tables."""

    def __call__(self, attn: Attention, hidden_states, rotary_emb=None):
        query = attn.to_q(hidden_states).view(hidden_states.shape[0], -1, 4, attn.head_dim)
        if attn.norm_q is not None:
            query = query if rotary_emb is not None else attn.norm_q(query)
        if rotary_emb is not None:
            query = mindiesd.ext.norm_rotary(
                attn.norm_q,
                query,
                rotary_emb.unsqueeze(2),
                rms_type="weight",
            )
        return query.view(hidden_states.shape[0], -1, 4 * attn.head_dim)


class QwenLike:
    """Each stream turns by itself, by a function of this file whose branch the call decides."""

    def __call__(self, attn: Attention, hidden_states, encoder_hidden_states, rotary_emb=None):
        img_query = attn.to_q(hidden_states).unflatten(-1, (-1, attn.head_dim))
        txt_query = attn.add_q_proj(encoder_hidden_states).unflatten(-1, (-1, attn.head_dim))
        if rotary_emb is not None:
            img_freqs, txt_freqs = rotary_emb
        return mindiesd.ext.norm_cat(
            (attn.norm_added_q, attn.norm_q),
            [txt_query, img_query],
            1,
            (txt_freqs.unsqueeze(1), img_freqs.unsqueeze(1)) if rotary_emb is not None else (None, None),
            rms_type="weight",
        )


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
        query = mindiesd.ext.rotary_complex(query, rotary_emb.unsqueeze(2))
        return torch.cat([query, query * 2], dim=1)


class OfTwoKinds:
    """One of the classes is no norm that is known."""

    def __call__(self, attn: Attention, hidden_states, rotary_emb):
        query = attn.to_q(hidden_states).unflatten(-1, (-1, attn.head_dim))
        query = attn.norm_q_mixed(query)
        query = mindiesd.ext.rotary_complex(query, rotary_emb.unsqueeze(2))
        return torch.cat([query, query * 2], dim=1)


class Exchanged:
    """A function of a third file puts another norm there."""

    def __call__(self, attn: Attention, hidden_states, rotary_emb):
        query = attn.to_q(hidden_states).unflatten(-1, (-1, attn.head_dim))
        query = attn.norm_q_exchanged(query)
        query = mindiesd.ext.rotary_complex(query, rotary_emb.unsqueeze(2))
        return torch.cat([query, query * 2], dim=1)


class Strided:
    """Heads before the sequence: without a norm the result lies as its operand, and a view reads it."""

    def __call__(self, attn: Attention, hidden_states, rotary_emb):
        query = attn.to_q(hidden_states).unflatten(-1, (-1, attn.head_dim)).transpose(1, 2)
        if attn.norm_q is not None:
            query = attn.norm_q(query)
        query = mindiesd.ext.rotary_complex(query, rotary_emb.unsqueeze(2))
        return query.stride()[1], query


class Unannotated:
    """Nothing says what the object is."""

    def __call__(self, attn, hidden_states, rotary_emb):
        query = attn.to_q(hidden_states).unflatten(-1, (-1, attn.head_dim))
        query = attn.norm_q(query)
        query = mindiesd.ext.rotary_complex(query, rotary_emb.unsqueeze(2))
        return torch.cat([query, query * 2], dim=1)


class Rebound:
    """The name no longer means the parameter."""

    def __call__(self, attn: Attention, hidden_states, rotary_emb, other):
        attn = other
        query = attn.to_q(hidden_states).unflatten(-1, (-1, attn.head_dim))
        query = attn.norm_q(query)
        query = mindiesd.ext.rotary_complex(query, rotary_emb.unsqueeze(2))
        return torch.cat([query, query * 2], dim=1)
