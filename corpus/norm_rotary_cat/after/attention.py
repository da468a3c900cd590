"""Queries of two streams that turn by tables of their own behind norms of their own and become one, and what keeps them
apart."""

import mindiesd.ext
import torch
from diffusers.models.normalization import LpNorm
from torch import nn


def turn(x, freqs):
    freqs = freqs.unsqueeze(1)
    return mindiesd.ext.rotary_complex(x, freqs)


class Joint(nn.Module):
    def __init__(self, width, heads, qk_norm="rms_norm", processor=None):
        super().__init__()
        self.head_dim = width // heads
        self.to_q = nn.Linear(width, width)
        self.to_k = nn.Linear(width, width)
        self.add_q_proj = nn.Linear(width, width)
        self.add_k_proj = nn.Linear(width, width)
        if qk_norm is None:
            self.norm_q = None
            self.norm_k = None
            self.norm_added_q = None
            self.norm_added_k = None
        elif qk_norm == "rms_norm":
            self.norm_q = mindiesd.ext.TypedRMSNorm(width // heads, eps=1e-6, result_type="weight")
            self.norm_k = mindiesd.ext.TypedRMSNorm(width // heads, eps=1e-6, result_type="weight")
            self.norm_added_q = mindiesd.ext.TypedRMSNorm(width // heads, eps=1e-6, result_type="weight")
            self.norm_added_k = mindiesd.ext.TypedRMSNorm(width // heads, eps=1e-6, result_type="weight")
        elif qk_norm == "layer_norm":
            self.norm_q = nn.LayerNorm(width // heads)
            self.norm_k = nn.LayerNorm(width // heads)
            self.norm_added_q = nn.LayerNorm(width // heads)
            self.norm_added_k = nn.LayerNorm(width // heads)
        elif qk_norm == "l2":
            self.norm_q = LpNorm(p=2, dim=-1, eps=1e-6)
            self.norm_k = LpNorm(p=2, dim=-1, eps=1e-6)
            self.norm_added_q = LpNorm(p=2, dim=-1, eps=1e-6)
            self.norm_added_k = LpNorm(p=2, dim=-1, eps=1e-6)
        self.processor = processor

    def forward(self, x, context, freqs=None):
        return self.processor(self, x, context, freqs)


class QwenLike:
    """Norms that a configuration may leave out, tables of both streams or none."""

    def __call__(self, attn: Joint, hidden_states, context, freqs=None):
        query = attn.to_q(hidden_states).unflatten(-1, (-1, attn.head_dim))
        key = attn.to_k(hidden_states).unflatten(-1, (-1, attn.head_dim))
        txt_query = attn.add_q_proj(context).unflatten(-1, (-1, attn.head_dim))
        txt_key = attn.add_k_proj(context).unflatten(-1, (-1, attn.head_dim))
        if freqs is not None:
            img_freqs, txt_freqs = freqs
        joint_query = mindiesd.ext.norm_cat(
            (attn.norm_added_q, attn.norm_q),
            [txt_query, query],
            1,
            (txt_freqs.unsqueeze(1), img_freqs.unsqueeze(1)) if freqs is not None else (None, None),
            rms_type="weight",
        )
        joint_key = mindiesd.ext.norm_cat(
            (attn.norm_added_k, attn.norm_k),
            [txt_key, key],
            1,
            (txt_freqs.unsqueeze(1), img_freqs.unsqueeze(1)) if freqs is not None else (None, None),
            rms_type="weight",
        )
        return joint_query.flatten(2), joint_key.flatten(2)


class WithoutNames:
    """The tables are parts of one argument: nothing is left of what stood under the condition."""

    def __call__(self, attn: Joint, x, context, freqs: tuple[torch.Tensor, torch.Tensor] | None = None):
        return mindiesd.ext.norm_cat(
            (attn.norm_q, attn.norm_added_q),
            [attn.to_q(x).unflatten(-1, (-1, attn.head_dim)), attn.add_q_proj(context).unflatten(-1, (-1, attn.head_dim))],
            1,
            (freqs[0].unsqueeze(1), freqs[1].unsqueeze(1)) if freqs is not None else (None, None),
            rms_type="weight",
        ), mindiesd.ext.norm_cat(
            (attn.norm_k, attn.norm_added_k),
            [attn.to_k(x).unflatten(-1, (-1, attn.head_dim)), attn.add_k_proj(context).unflatten(-1, (-1, attn.head_dim))],
            1,
            (freqs[0].unsqueeze(1), freqs[1].unsqueeze(1)) if freqs is not None else (None, None),
            rms_type="weight",
        )


class HeadsFirst:
    """Real tables, the heads before the sequence: two rotations and the concatenation."""

    def __call__(self, attn: Joint, x, context, freqs):
        query = attn.to_q(x).unflatten(-1, (-1, attn.head_dim)).transpose(1, 2)
        other = attn.add_q_proj(context).unflatten(-1, (-1, attn.head_dim)).transpose(1, 2)
        query = mindiesd.ext.norm_rotary(
            attn.norm_q,
            query,
            freqs[0][0][None, None, :, :],
            freqs[0][1][None, None, :, :],
            rms_type="weight",
        )
        other = mindiesd.ext.norm_rotary(
            attn.norm_added_q,
            other,
            freqs[1][0][None, None, :, :],
            freqs[1][1][None, None, :, :],
            rms_type="weight",
        )
        return torch.cat([other, query], dim=-2)


class ByTheLibrary:
    """diffusers' function, whose complex tables are the rows' alone, and the image first."""

    def __call__(self, attn: Joint, x, context, freqs):
        query = attn.to_q(x).unflatten(-1, (-1, attn.head_dim))
        other = attn.add_q_proj(context).unflatten(-1, (-1, attn.head_dim))
        return mindiesd.ext.norm_cat(
            (attn.norm_q, attn.norm_added_q),
            [query, other],
            -3,
            (freqs[0].unsqueeze(2), freqs[1].unsqueeze(2)),
            rms_type="weight",
        )


class NormInsideTheRotation:
    """The statement that computes the norm goes with the rotation."""

    def __call__(self, attn: Joint, query, other, freqs):
        query = query.unflatten(-1, (-1, attn.head_dim))
        other = other.unflatten(-1, (-1, attn.head_dim))
        query = mindiesd.ext.norm_rotary(attn.norm_q, query, freqs[0].unsqueeze(1), rms_type="weight")
        other = mindiesd.ext.norm_rotary(attn.norm_added_q, other, freqs[1].unsqueeze(1), rms_type="weight")
        return torch.cat([query, other], dim=1)


class ParameterInsideTheRotation:
    """The same of parameters, whose names mean the rotated ones where the streams are joined."""

    def __call__(self, attn: Joint, query, other, freqs):
        return joined(attn, query.unflatten(-1, (-1, attn.head_dim)), other.unflatten(-1, (-1, attn.head_dim)), freqs)


def joined(attn: Joint, query, other, freqs):
    query = mindiesd.ext.norm_rotary(attn.norm_q, query, freqs[0].unsqueeze(1), rms_type="weight")
    other = mindiesd.ext.norm_rotary(attn.norm_added_q, other, freqs[1].unsqueeze(1), rms_type="weight")
    return torch.cat([query, other], dim=1)


class OneTurnsAlways:
    """Only one of the streams turns under the condition."""

    def __call__(self, attn: Joint, x, context, freqs):
        query = attn.norm_q(attn.to_q(x).unflatten(-1, (-1, attn.head_dim)))
        first, second = freqs
        if first is not None:
            query = turn(query, first)
        other = mindiesd.ext.norm_rotary(
            attn.norm_added_q,
            attn.add_q_proj(context).unflatten(-1, (-1, attn.head_dim)),
            second.unsqueeze(1),
            rms_type="weight",
        )
        return torch.cat([query, other], dim=1)


class TwoConditions:
    """Each stream has a condition of its own."""

    def __call__(self, attn: Joint, x, context, freqs):
        first, second = freqs
        query = attn.norm_q(attn.to_q(x).unflatten(-1, (-1, attn.head_dim)))
        other = attn.norm_added_q(attn.add_q_proj(context).unflatten(-1, (-1, attn.head_dim)))
        if first is not None:
            query = turn(query, first)
        if second is not None:
            other = turn(other, second)
        return torch.cat([query, other], dim=1)


class TwoModes:
    """Halves of one stream turn, neighbours of the other."""

    def __call__(self, attn: Joint, x, context, freqs):
        query = mindiesd.ext.norm_rotary(
            attn.norm_q,
            attn.to_q(x).unflatten(-1, (-1, attn.head_dim)),
            freqs[0][0][None, :, None, :],
            freqs[0][1][None, :, None, :],
            "rotated_interleaved",
            rms_type="weight",
        )
        other = mindiesd.ext.norm_rotary(
            attn.norm_added_q,
            attn.add_q_proj(context).unflatten(-1, (-1, attn.head_dim)),
            freqs[1][0][None, :, None, :],
            freqs[1][1][None, :, None, :],
            rms_type="weight",
        )
        return torch.cat([query, other], dim=1)


class LastDimension:
    def __call__(self, attn: Joint, x, context, freqs):
        query = mindiesd.ext.norm_rotary(
            attn.norm_q,
            attn.to_q(x).unflatten(-1, (-1, attn.head_dim)),
            freqs[0].unsqueeze(1),
            rms_type="weight",
        )
        other = mindiesd.ext.norm_rotary(
            attn.norm_added_q,
            attn.add_q_proj(x).unflatten(-1, (-1, attn.head_dim)),
            freqs[0].unsqueeze(1),
            rms_type="weight",
        )
        return torch.cat([query, other], dim=-1)


class ReadBeside:
    """What one norm gives is read beside the joint query."""

    def __call__(self, attn: Joint, x, context, freqs):
        query = attn.norm_q(attn.to_q(x).unflatten(-1, (-1, attn.head_dim)))
        rest = query.mean()
        query = turn(query, freqs[0])
        other = mindiesd.ext.norm_rotary(
            attn.norm_added_q,
            attn.add_q_proj(context).unflatten(-1, (-1, attn.head_dim)),
            freqs[1].unsqueeze(1),
            rms_type="weight",
        )
        return torch.cat([query, other], dim=1) + rest


class TablesWritten:
    """The tables change between the rotation and the concatenation."""

    def __call__(self, attn: Joint, x, context, freqs):
        first, second = freqs[0].clone(), freqs[1].clone()
        query = mindiesd.ext.norm_rotary(
            attn.norm_q,
            attn.to_q(x).unflatten(-1, (-1, attn.head_dim)),
            first.unsqueeze(1),
            rms_type="weight",
        )
        other = mindiesd.ext.norm_rotary(
            attn.norm_added_q,
            attn.add_q_proj(context).unflatten(-1, (-1, attn.head_dim)),
            second.unsqueeze(1),
            rms_type="weight",
        )
        first.mul_(2)
        return torch.cat([query, other], dim=1)


class TurnedWritten:
    """What turned is written before it is joined."""

    def __call__(self, attn: Joint, x, context, freqs):
        query = mindiesd.ext.norm_rotary(
            attn.norm_q,
            attn.to_q(x).unflatten(-1, (-1, attn.head_dim)),
            freqs[0].unsqueeze(1),
            rms_type="weight",
        )
        other = mindiesd.ext.norm_rotary(
            attn.norm_added_q,
            attn.add_q_proj(context).unflatten(-1, (-1, attn.head_dim)),
            freqs[1].unsqueeze(1),
            rms_type="weight",
        )
        other.mul_(2)
        return torch.cat([query, other], dim=1)


class NameUsedAgain:
    """The names of the tables mean something else where the streams are joined."""

    def __call__(self, attn: Joint, x, context, freqs):
        query = attn.norm_q(attn.to_q(x).unflatten(-1, (-1, attn.head_dim)))
        other = attn.norm_added_q(attn.add_q_proj(context).unflatten(-1, (-1, attn.head_dim)))
        if freqs is not None:
            first, second = freqs
            query = turn(query, first)
            other = turn(other, second)
            first, second = second, first
        freqs = None
        return torch.cat([query, other], dim=1), freqs
