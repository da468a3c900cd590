"""Norms of query and key and the rotations behind them, as attention processors write them."""

import mindiesd.ext
import torch
from torch import nn


def apply_rotary_emb(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        sin,
        rotated_mode="rotated_chunks",
        result_type="promoted",
    )


class Attention(nn.Module):
    def __init__(self, width, heads, norm_width, processor):
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(width, width)
        self.to_k = nn.Linear(width, width)
        self.to_v = nn.Linear(width, width)
        self.norm_q = mindiesd.ext.RMSNorm(norm_width, eps=1e-6)
        self.norm_k = mindiesd.ext.RMSNorm(norm_width, eps=1e-6)
        self.processor = processor

    def forward(self, x, context=None, rotary_emb=None):
        return self.processor(self, x, context, rotary_emb)


class WanLike:
    """Over all heads together, and with rotary tables alone; the table of each pair stands at its first
    or its second place."""

    def __call__(
        self,
        attn: "Attention",
        hidden_states: torch.Tensor,
        encoder_hidden_states: torch.Tensor | None = None,
        rotary_emb: tuple[torch.Tensor, torch.Tensor] | None = None,
    ) -> torch.Tensor:
        if encoder_hidden_states is None:
            encoder_hidden_states = hidden_states
        query, key = attn.to_q(hidden_states), attn.to_k(encoder_hidden_states)
        value = attn.to_v(encoder_hidden_states)

        # Before the heads are apart.
        query = query if rotary_emb is not None else attn.norm_q(query)
        key = key if rotary_emb is not None else attn.norm_k(key)

        query = query.unflatten(2, (attn.heads, -1))
        key = key.unflatten(2, (attn.heads, -1))
        value = value.unflatten(2, (attn.heads, -1))

        if rotary_emb is not None:

            def apply_rotary_emb(
                hidden_states: torch.Tensor,
                freqs_cos: torch.Tensor,
                freqs_sin: torch.Tensor,
            ):
                cos = freqs_cos[..., 0::2]
                sin = freqs_sin[..., 1::2]
                return mindiesd.ext.rotary_position_embedding(
                    hidden_states,
                    cos,
                    sin,
                    rotated_mode="rotated_interleaved",
                )

            query = mindiesd.ext.norm_rotary(
                attn.norm_q,
                query,
                rotary_emb[0][..., ::2],
                rotary_emb[1][..., 1::2],
                "rotated_interleaved",
                heads=2,
            )
            key = mindiesd.ext.norm_rotary(
                attn.norm_k,
                key,
                rotary_emb[0][..., ::2],
                rotary_emb[1][..., 1::2],
                "rotated_interleaved",
                heads=2,
            )

        query, key, value = (t.transpose(1, 2) for t in (query, key, value))
        hidden_states = mindiesd.ext.attention_forward(query, key, value, head_first=True)
        return hidden_states.transpose(1, 2).flatten(2, 3)


class Always:
    """No condition: the norms go."""

    def __call__(self, attn: Attention, x, context, rotary_emb):
        cos, sin = rotary_emb
        q = attn.to_q(x).unflatten(-1, (attn.heads, -1))
        k = attn.to_k(x).unflatten(-1, (attn.heads, -1))
        q = mindiesd.ext.norm_rotary(attn.norm_q, q, cos, sin, "rotated_chunks", result_type="promoted")
        k = mindiesd.ext.norm_rotary(attn.norm_k, k, cos, sin, "rotated_chunks", result_type="promoted")
        return torch.cat((q, k), dim=1)


class Typed(nn.Module):
    """Diffusers' norm, whose result lies as its operand does."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.to_qk = nn.Linear(width, 2 * width)
        self.norm_q = mindiesd.ext.TypedRMSNorm(width // heads, eps=1e-6, result_type="weight")
        self.norm_k = mindiesd.ext.TypedRMSNorm(width, eps=1e-6, result_type="weight")

    def forward(self, x, cos, sin):
        q, k = self.to_qk(x).chunk(2, dim=-1)
        q = q.unflatten(-1, (self.heads, -1))
        turned = mindiesd.ext.norm_rotary(
            self.norm_q,
            q,
            cos,
            sin,
            "rotated_chunks",
            result_type="promoted",
            strides="x",
        )
        k = mindiesd.ext.norm_rotary(
            self.norm_k,
            k.unflatten(-1, (self.heads, -1)),
            cos,
            sin,
            "rotated_chunks",
            heads=-2,
            result_type="promoted",
            strides="x",
        )
        return turned, k


class WithoutTables:
    """The test the other way round, and a norm that stands inside another expression."""

    def __call__(self, attn: Attention, x, context, rotary_emb):
        q = attn.to_q(x)
        q = (q if rotary_emb is not None else attn.norm_q(q)).unflatten(2, (attn.heads, -1))
        if rotary_emb is None:
            out = q * 2
        else:
            cos, sin = rotary_emb
            out = mindiesd.ext.norm_rotary(
                attn.norm_q,
                q,
                cos,
                sin,
                "rotated_chunks",
                heads=2,
                result_type="promoted",
            )
        return out


def apply_rotary_pair(x, freqs):
    cos, sin = freqs
    return mindiesd.ext.rotary_position_embedding(x, cos, sin, rotated_mode="rotated_interleaved")


class LTXLike:
    """Heads still side by side when they turn, and tables that the rotation takes apart."""

    def __call__(self, attn: "Attention", x, context, rotary_emb: torch.Tensor | None = None):
        query = attn.to_q(x)
        query = query if rotary_emb is not None else attn.norm_q(query)
        if rotary_emb is not None:
            query = mindiesd.ext.norm_rotary(
                attn.norm_q,
                query,
                rotary_emb[0],
                rotary_emb[1],
                "rotated_interleaved",
            )
        return query.unflatten(2, (attn.heads, -1))


class TablesOfAnyKind:
    """Nothing says that what is taken apart has items by their numbers: the calls stay two."""

    def __call__(self, attn: "Attention", x, context, rotary_emb):
        return apply_rotary_pair(attn.norm_q(attn.to_q(x)), rotary_emb)


class NormReadElsewhere:
    """What the norm gives is needed beside the rotation: two calls stay."""

    def __call__(self, attn: Attention, x, context, rotary_emb):
        cos, sin = rotary_emb
        q = attn.norm_q(attn.to_q(x)).unflatten(2, (attn.heads, -1))
        return apply_rotary_emb(q, cos, sin) + q.mean()


class Written:
    """Written in place between norm and rotation."""

    def __call__(self, attn: Attention, x, context, rotary_emb):
        cos, sin = rotary_emb
        q = attn.norm_q(attn.to_q(x))
        q.mul_(2)
        q = q.unflatten(2, (attn.heads, -1))
        return apply_rotary_emb(q, cos, sin)


class OperandWritten:
    """What the norm was given is written in place before the rotation."""

    def __call__(self, attn: Attention, x, context, rotary_emb):
        cos, sin = rotary_emb
        raw = attn.to_q(x)
        q = attn.norm_q(raw)
        raw.mul_(2)
        q = q.unflatten(2, (attn.heads, -1))
        return apply_rotary_emb(q, cos, sin)


class AnotherCondition:
    """Where neither flag is set what the norm gives is read on the rotation's side."""

    def __call__(self, attn: Attention, x, context, rotary_emb, skip=None):
        q = attn.to_q(x)
        q = attn.norm_q(q)
        q = q.unflatten(2, (attn.heads, -1))
        if rotary_emb is not None and skip is None:
            cos, sin = rotary_emb
            q = apply_rotary_emb(q, cos, sin)
        return q


class InALoop:
    """The norm once, the rotation each time."""

    def __call__(self, attn: Attention, x, context, rotary_emb):
        q = attn.norm_q(attn.to_q(x))
        found = []
        for cos, sin in (rotary_emb, rotary_emb):
            found.append(apply_rotary_emb(q.unflatten(2, (attn.heads, -1)), cos, sin))
        return torch.cat(found)


class Captured:
    """A function inside reads the name."""

    def __call__(self, attn: Attention, x, context, rotary_emb):
        cos, sin = rotary_emb
        q = attn.norm_q(attn.to_q(x))

        def mean():
            return q.mean()

        return apply_rotary_emb(q.unflatten(2, (attn.heads, -1)), cos, sin) + mean()


class OtherSplit:
    """Three parts: the norm's dimension is not the heads and the width of each."""

    def __call__(self, attn: Attention, x, context, rotary_emb):
        cos, sin = rotary_emb
        q = attn.norm_q(attn.to_q(x)).unflatten(2, (1, attn.heads, -1))
        return apply_rotary_emb(q, cos, sin)


class CastFirst:
    """The norm is called with a cast of a name, which stands on both sides of the choice."""

    def __call__(self, attn: Attention, x, context=None, rotary_emb=None):
        q = attn.to_q(x).unflatten(-1, (attn.heads, -1))
        q = q.float() if rotary_emb is not None else attn.norm_q(q.float())
        if rotary_emb is not None:
            q = mindiesd.ext.norm_rotary(
                attn.norm_q,
                q,
                rotary_emb[0],
                rotary_emb[1],
                "rotated_chunks",
                result_type="promoted",
            )
        return torch.cat((q, q * 2), dim=1).to(x.dtype)


class ComputedFirst:
    """The norm is called with more than a cast: it would be written twice."""

    def __call__(self, attn: Attention, x, context=None, rotary_emb=None):
        q = attn.to_q(x).unflatten(-1, (attn.heads, -1))
        q = attn.norm_q(q * 2)
        if rotary_emb is not None:
            q = apply_rotary_emb(q, rotary_emb[0], rotary_emb[1])
        return torch.cat((q, q * 2), dim=1)
