"""Queries and keys of image and text, each stream behind norms of its own, that become one along the sequence and do not
turn, and what keeps their parts apart."""

import mindiesd.ext
import torch
from torch import nn


class Attention(nn.Module):
    """The configuration says which norms there are."""

    def __init__(self, width, heads, qk_norm=None, added=None, processor=None):
        super().__init__()
        self.heads = heads
        self.head_dim = width // heads
        self.to_q = nn.Linear(width, width)
        self.to_k = nn.Linear(width, width)
        self.to_v = nn.Linear(width, width)
        self.norm_q = None
        self.norm_k = None
        self.norm_added_q = None
        self.norm_added_k = None
        if qk_norm == "layer_norm":
            self.norm_q = nn.LayerNorm(width // heads)
            self.norm_k = nn.LayerNorm(width // heads)
        elif qk_norm == "rms_norm":
            self.norm_q = mindiesd.ext.TypedRMSNorm(width // heads, eps=1e-6, result_type="weight")
            self.norm_k = mindiesd.ext.TypedRMSNorm(width // heads, eps=1e-6, result_type="weight")
        if added is not None:
            self.add_q_proj = nn.Linear(added, width)
            self.add_k_proj = nn.Linear(added, width)
            self.add_v_proj = nn.Linear(added, width)
            if qk_norm is not None:
                self.norm_added_q = mindiesd.ext.TypedRMSNorm(
                    width // heads,
                    eps=1e-6,
                    result_type="weight",
                )
                self.norm_added_k = mindiesd.ext.TypedRMSNorm(
                    width // heads,
                    eps=1e-6,
                    result_type="weight",
                )
        self.processor = processor

    def forward(self, hidden_states, encoder_hidden_states=None):
        return self.processor(self, hidden_states, encoder_hidden_states)


class StableDiffusion3Like:
    """The other stream under a condition, heads before the sequence, in the layout that attention reads."""

    def __call__(self, attn: "Attention", hidden_states, encoder_hidden_states=None):
        batch_size = hidden_states.shape[0]
        query = attn.to_q(hidden_states)
        key = attn.to_k(hidden_states)
        value = attn.to_v(hidden_states)
        head_dim = attn.head_dim
        query = query.view(batch_size, -1, attn.heads, head_dim)
        key = key.view(batch_size, -1, attn.heads, head_dim)
        value = value.view(batch_size, -1, attn.heads, head_dim)

        if attn.norm_q is not None:
            query = query if encoder_hidden_states is not None else attn.norm_q(query)
        if attn.norm_k is not None:
            key = key if encoder_hidden_states is not None else attn.norm_k(key)

        if encoder_hidden_states is not None:
            other_query = attn.add_q_proj(encoder_hidden_states)
            other_key = attn.add_k_proj(encoder_hidden_states)
            other_value = attn.add_v_proj(encoder_hidden_states)
            other_query = other_query.view(batch_size, -1, attn.heads, head_dim)
            other_key = other_key.view(batch_size, -1, attn.heads, head_dim)
            other_value = other_value.view(batch_size, -1, attn.heads, head_dim)

            query = mindiesd.ext.norm_cat(
                (attn.norm_q, attn.norm_added_q),
                [query, other_query],
                1,
                rms_type="weight",
            )
            key = mindiesd.ext.norm_cat(
                (attn.norm_k, attn.norm_added_k),
                [key, other_key],
                1,
                rms_type="weight",
            )
            value = torch.cat([value, other_value], dim=1)

        out = mindiesd.attention_forward(query, key, value)
        return out.reshape(batch_size, -1, attn.heads * head_dim)


class Always(nn.Module):
    """Both streams, the text first, plain norms, the concatenation in one expression."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_q = mindiesd.ext.RMSNorm(width // heads, eps=1e-6)
        self.norm_added_q = mindiesd.ext.RMSNorm(width // heads, eps=1e-5, elementwise_affine=False)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1))

    def forward(self, x, context):
        return mindiesd.ext.norm_cat(
            (self.norm_added_q, self.norm_q),
            [self.split(context), self.split(x)],
            1,
        )


class HeadsFirst(Always):
    """Heads that stay before the sequence."""

    def forward(self, x, context):
        return mindiesd.ext.norm_cat(
            (self.norm_added_q, self.norm_q),
            [self.split(context).transpose(1, 2), self.split(x).transpose(1, 2)],
            -2,
        )


class Turned(Always):
    """Heads and sequence change places between norm and concatenation."""

    def forward(self, x, context):
        query = self.norm_q(self.split(x)).transpose(1, 2)
        other = self.norm_added_q(self.split(context)).transpose(1, 2)
        return torch.cat([other, query], dim=2)


class Rows(Always):
    """No heads: three dimensions, which no launch takes."""

    def forward(self, x, context):
        return mindiesd.ext.norm_cat((self.norm_q, self.norm_added_q), [x[..., :16], context[..., :16]], 1)


class LastDimension(Always):
    """Not along the sequence."""

    def forward(self, x, context):
        return torch.cat([self.norm_q(self.split(x)), self.norm_added_q(self.split(x * 2))], dim=-1)


class ReadBeside(Always):
    """One norm's result is read beside the joint tensor."""

    def forward(self, x, context):
        other = self.norm_added_q(self.split(context))
        return torch.cat([self.norm_q(self.split(x)), other], dim=1) + other.mean()


class Written(Always):
    """What a norm was given is written before the concatenation."""

    def forward(self, x, context):
        raw = self.split(x) * 1
        query = self.norm_q(raw)
        raw.mul_(2)
        return torch.cat([query, self.norm_added_q(self.split(context))], dim=1) + raw.mean()


class WeightWritten(Always):
    """A norm's weight is written between the norm and the concatenation."""

    def forward(self, x, context):
        query = self.norm_q(self.split(x))
        self.norm_q.weight.data.mul_(0.5)
        return torch.cat([query, self.norm_added_q(self.split(context))], dim=1)


class OneStreamWritten(Always):
    """What a norm gives is written in place."""

    def forward(self, x, context):
        query = self.norm_q(self.split(x))
        query[:, :2] = 0
        return torch.cat([query, self.norm_added_q(self.split(context))], dim=1)


class ThreeStreams(Always):
    """More than two."""

    def forward(self, x, context):
        query = self.norm_q(self.split(x))
        other = self.norm_added_q(self.split(context))
        return torch.cat([query, other, other], dim=1)


class Unknown(Always):
    """A norm of a kind that nobody shows."""

    def __init__(self, width, heads, norm=torch.nn.Identity()):
        super().__init__(width, heads)
        self.q_norm = norm

    def forward(self, x, context):
        return torch.cat([self.q_norm(self.split(x)), self.norm_added_q(self.split(context))], dim=1)
