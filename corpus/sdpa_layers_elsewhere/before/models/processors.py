import torch.nn.functional as F

from .blocks import Attention, Inherited, Mixed


class Processor:
    """Three axes come in; that the layers keep them is shown in another file."""

    def __call__(self, attn: Attention, hidden_states):
        b, n, c = hidden_states.shape
        query = attn.to_q(hidden_states).unflatten(2, (attn.heads, -1)).transpose(1, 2)
        key = attn.to_k(hidden_states).unflatten(2, (attn.heads, -1)).transpose(1, 2)
        value = attn.to_v(hidden_states).unflatten(2, (attn.heads, -1)).transpose(1, 2)
        query = attn.norm_q(query)
        key = attn.norm_k(key)
        hidden_states = F.scaled_dot_product_attention(query, key, value)
        hidden_states = hidden_states.transpose(1, 2).flatten(2, 3)
        return attn.to_out(hidden_states)


class ForMixed:
    """One of the layers is of no known class."""

    def __call__(self, attn: Mixed, hidden_states):
        b, n, c = hidden_states.shape
        query = attn.to_q(hidden_states).unflatten(2, (attn.heads, -1)).transpose(1, 2)
        key = attn.to_k(hidden_states).flatten(2).unflatten(2, (attn.heads, -1)).transpose(1, 2)
        value = attn.to_v(hidden_states).unflatten(2, (attn.heads, -1)).transpose(1, 2)
        hidden_states = F.scaled_dot_product_attention(query, key, value)
        return hidden_states.transpose(1, 2).flatten(2, 3)


class OverTwoAxes:
    """The norm is over tokens and width: it has the layout of the attention."""

    def __call__(self, attn: Mixed, q, k, v):
        b, n, _ = q.shape
        q = q.view(b, n, attn.heads, -1).transpose(1, 2)
        k = k.view(b, n, attn.heads, -1).transpose(1, 2)
        v = v.view(b, n, attn.heads, -1).transpose(1, 2)
        v = attn.norm_v(v)
        x = F.scaled_dot_product_attention(q, k, v)
        return x.transpose(1, 2).reshape(b, n, -1)


class ForInherited:
    """A class of a third file inherits from the annotated one and has another layer there."""

    def __call__(self, attn: Inherited, hidden_states):
        b, n, c = hidden_states.shape
        query = attn.project_q(hidden_states).unflatten(-1, (attn.heads, -1)).transpose(1, 2)
        key = attn.project_k(hidden_states).unflatten(-1, (attn.heads, -1)).transpose(1, 2)
        value = attn.project_v(hidden_states).unflatten(-1, (attn.heads, -1)).transpose(1, 2)
        hidden_states = F.scaled_dot_product_attention(query, key, value)
        return hidden_states.transpose(1, 2).flatten(-2)


class Rebound:
    """The name no longer means the parameter."""

    def __call__(self, attn: Attention, hidden_states, other):
        b, n, c = hidden_states.shape
        attn = other
        query = attn.to_q(hidden_states).unflatten(2, (attn.heads, -1)).transpose(1, 2)
        key = attn.to_k(hidden_states).unflatten(2, (attn.heads, -1)).transpose(1, 2)
        value = attn.to_v(hidden_states).unflatten(2, (attn.heads, -1)).transpose(1, 2)
        hidden_states = F.scaled_dot_product_attention(query, key, value)
        return hidden_states.transpose(1, 2).flatten(2, 3)
