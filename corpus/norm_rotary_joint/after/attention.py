"""Norms of query and key behind which text and image become one sequence that turns, and norms that a configuration
chooses or leaves out."""

import mindiesd.ext
import torch
from diffusers.models.normalization import LpNorm
from torch import nn


class JointAttention(nn.Module):
    def __init__(self, width, heads, added=None, processor=None):
        super().__init__()
        self.head_dim = width // heads
        self.added_kv_proj_dim = added
        self.to_q = nn.Linear(width, width)
        self.norm_q = mindiesd.ext.RMSNorm(width // heads, eps=1e-6)
        if added is not None:
            self.add_q_proj = nn.Linear(added, width)
            self.norm_added_q = mindiesd.ext.RMSNorm(width // heads, eps=1e-6)
        self.processor = processor

    def forward(self, hidden_states, encoder_hidden_states=None, rotary_emb=None):
        return self.processor(self, hidden_states, encoder_hidden_states, rotary_emb)


class FluxLike:
    """The other stream under a condition, the tables those of the joint sequence."""

    def __call__(self, attn: "JointAttention", hidden_states, encoder_hidden_states=None, image_rotary_emb=None):
        query = attn.to_q(hidden_states).unflatten(-1, (-1, attn.head_dim))
        encoder_query = None
        if attn.added_kv_proj_dim is not None:
            encoder_query = attn.add_q_proj(encoder_hidden_states)

        query = query if image_rotary_emb is not None else attn.norm_q(query)
        if attn.added_kv_proj_dim is not None:
            encoder_query = encoder_query.unflatten(-1, (-1, attn.head_dim))
            encoder_query = encoder_query if image_rotary_emb is not None else attn.norm_added_q(encoder_query)
            query = [encoder_query, query] if image_rotary_emb is not None else torch.cat([encoder_query, query], dim=1)
        if image_rotary_emb is not None:
            query = mindiesd.ext.norm_rotary(
                (attn.norm_added_q, attn.norm_q) if attn.added_kv_proj_dim is not None else attn.norm_q,
                query,
                image_rotary_emb[0][None, :, None, :],
                image_rotary_emb[1][None, :, None, :],
                "rotated_interleaved",
                sequence_dim=1,
            )
        return query.flatten(2)


class Always:
    """Both streams, the image first, halves that turn, heads before the sequence: norms and concatenation go."""

    def __call__(self, attn: JointAttention, x, context, rotary_emb):
        query = attn.to_q(x).unflatten(-1, (-1, attn.head_dim)).transpose(1, 2)
        other = attn.add_q_proj(context).unflatten(-1, (-1, attn.head_dim)).transpose(1, 2)
        query = (query, other)
        query = mindiesd.ext.norm_rotary(
            (attn.norm_q, attn.norm_added_q),
            query,
            rotary_emb[0][None, None, :, :],
            rotary_emb[1][None, None, :, :],
            sequence_dim=2,
        )
        return torch.cat([query, query * 2], 1)


class ChosenAttention(nn.Module):
    """The configuration says which norm there is."""

    def __init__(self, width, heads, qk_norm=None, processor=None):
        super().__init__()
        self.head_dim = width // heads
        self.to_q = nn.Linear(width, width)
        if qk_norm is None:
            self.norm_q = None
        elif qk_norm == "layer_norm":
            self.norm_q = nn.LayerNorm(width // heads)
        elif qk_norm == "rms_norm":
            self.norm_q = mindiesd.ext.TypedRMSNorm(width // heads, eps=1e-6, result_type="weight")
        elif qk_norm == "l2":
            self.norm_q = LpNorm(p=2, dim=-1, eps=1e-6)
        else:
            raise ValueError(f"unknown norm {qk_norm}")
        self.processor = processor

    def forward(self, hidden_states, rotary_emb=None):
        return self.processor(self, hidden_states, rotary_emb)


class LuminaLike:
    """A norm or none, and complex tables."""

    def __call__(self, attn: ChosenAttention, hidden_states, rotary_emb=None):
        query = attn.to_q(hidden_states).unflatten(-1, (-1, attn.head_dim))
        if attn.norm_q is not None:
            query = query if rotary_emb is not None else attn.norm_q(query)
        if rotary_emb is not None:
            query = mindiesd.ext.norm_rotary(attn.norm_q, query, rotary_emb.unsqueeze(2), rms_type="weight")
        return torch.cat([query, query * 2], 1)


class ChosenAlways:
    """No condition for the rotation: the norm goes."""

    def __call__(self, attn: ChosenAttention, hidden_states, rotary_emb):
        query = attn.to_q(hidden_states).unflatten(-1, (-1, attn.head_dim))
        query = mindiesd.ext.norm_rotary(attn.norm_q, query, rotary_emb.unsqueeze(2), rms_type="weight")
        return torch.cat([query, query * 2], 1)


class ReadBetween:
    """The joint tensor's size is read before it turns: a list has none."""

    def __call__(self, attn: JointAttention, x, context, rotary_emb=None):
        query = mindiesd.ext.norm_cat(
            (attn.norm_added_q, attn.norm_q),
            [attn.add_q_proj(context).unflatten(-1, (-1, attn.head_dim)), attn.to_q(x).unflatten(-1, (-1, attn.head_dim))],
            1,
        )
        length = query.shape[1]
        query = mindiesd.rotary_position_embedding(
            query,
            rotary_emb[0],
            rotary_emb[1],
            rotated_mode="rotated_interleaved",
        )
        return query[:, : length // 2]


class CopiedBetween:
    """More than a name between the concatenation and the rotation."""

    def __call__(self, attn: JointAttention, x, context, rotary_emb=None):
        query = mindiesd.ext.norm_cat(
            (attn.norm_added_q, attn.norm_q),
            [attn.add_q_proj(context).unflatten(-1, (-1, attn.head_dim)), attn.to_q(x).unflatten(-1, (-1, attn.head_dim))],
            1,
        )
        query = query.contiguous()
        query = mindiesd.rotary_position_embedding(
            query,
            rotary_emb[0],
            rotary_emb[1],
            rotated_mode="rotated_interleaved",
        )
        return torch.cat([query, query * 2], 1)


class TwoNames:
    """Another name of the joint tensor."""

    def __call__(self, attn: JointAttention, x, context, rotary_emb=None):
        joint = mindiesd.ext.norm_cat(
            (attn.norm_added_q, attn.norm_q),
            [attn.add_q_proj(context).unflatten(-1, (-1, attn.head_dim)), attn.to_q(x).unflatten(-1, (-1, attn.head_dim))],
            1,
        )
        both = joint
        query = mindiesd.rotary_position_embedding(
            both,
            rotary_emb[0],
            rotary_emb[1],
            rotated_mode="rotated_interleaved",
        )
        return torch.cat([query, query * 2], 1)


class Written:
    """What a norm is given is written after the concatenation has read it."""

    def __call__(self, attn: JointAttention, x, context, rotary_emb=None):
        raw = attn.to_q(x).unflatten(-1, (-1, attn.head_dim))
        other = attn.add_q_proj(context).unflatten(-1, (-1, attn.head_dim))
        query = attn.norm_q(raw)
        other = attn.norm_added_q(other)
        query = torch.cat([other, query], dim=1)
        raw.mul_(2)
        query = mindiesd.rotary_position_embedding(
            query,
            rotary_emb[0],
            rotary_emb[1],
            rotated_mode="rotated_interleaved",
        )
        return torch.cat([query, query * 2], 1)


class OneNormReadElsewhere:
    """The text's norm is read beside the joint tensor."""

    def __call__(self, attn: JointAttention, x, context, rotary_emb=None):
        query = attn.to_q(x).unflatten(-1, (-1, attn.head_dim))
        other = attn.add_q_proj(context).unflatten(-1, (-1, attn.head_dim))
        query = attn.norm_q(query)
        other = attn.norm_added_q(other)
        query = torch.cat([other, query], dim=1)
        query = mindiesd.rotary_position_embedding(
            query,
            rotary_emb[0],
            rotary_emb[1],
            rotated_mode="rotated_interleaved",
        )
        return torch.cat([query, other], 1)


class AnotherCondition:
    """The streams become one only where something else says so, too."""

    def __call__(self, attn: JointAttention, x, context=None, rotary_emb=None):
        query = attn.to_q(x).unflatten(-1, (-1, attn.head_dim))
        query = attn.norm_q(query)
        if attn.added_kv_proj_dim is not None and context is not None:
            other = attn.norm_added_q(attn.add_q_proj(context).unflatten(-1, (-1, attn.head_dim)))
            query = torch.cat([other, query], dim=1)
        if rotary_emb is not None:
            query = mindiesd.rotary_position_embedding(
                query,
                rotary_emb[0],
                rotary_emb[1],
                rotated_mode="rotated_interleaved",
            )
        return query.flatten(2)


class InATry:
    """The norm may be left by an error that somebody catches."""

    def __call__(self, attn: ChosenAttention, hidden_states, rotary_emb):
        query = attn.to_q(hidden_states).unflatten(-1, (-1, attn.head_dim))
        try:
            query = attn.norm_q(query)
        except TypeError:
            pass
        query = mindiesd.ext.rotary_complex(query, rotary_emb.unsqueeze(2))
        return torch.cat([query, query * 2], 1)
