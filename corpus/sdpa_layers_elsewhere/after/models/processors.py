import mindiesd.ext

from .blocks import Attention, Inherited, Mixed


class Processor:
    """Three axes come in; that the layers keep them is shown in another file."""

    def __call__(self, attn: Attention, hidden_states):
        b, n, c = hidden_states.shape
        query = attn.to_q(hidden_states).unflatten(2, (attn.heads, -1))
        key = attn.to_k(hidden_states).unflatten(2, (attn.heads, -1))
        value = attn.to_v(hidden_states).unflatten(2, (attn.heads, -1))
        query = attn.norm_q(query)
        key = attn.norm_k(key)
        hidden_states = mindiesd.attention_forward(query, key, value)
        hidden_states = hidden_states.flatten(2, 3)
        return attn.to_out(hidden_states)


class ForMixed:
    """One of the layers is of no known class."""

    def __call__(self, attn: Mixed, hidden_states):
        b, n, c = hidden_states.shape
        query = attn.to_q(hidden_states).unflatten(2, (attn.heads, -1)).transpose(1, 2)
        key = attn.to_k(hidden_states).flatten(2).unflatten(2, (attn.heads, -1)).transpose(1, 2)
        value = attn.to_v(hidden_states).unflatten(2, (attn.heads, -1)).transpose(1, 2)
        hidden_states = mindiesd.ext.attention_forward(query, key, value, head_first=True)
        return hidden_states.transpose(1, 2).flatten(2, 3)


class OverTwoAxes:
    """The norm is over tokens and width: it has the layout of the attention."""

    def __call__(self, attn: Mixed, q, k, v):
        b, n, _ = q.shape
        q = q.view(b, n, attn.heads, -1).transpose(1, 2)
        k = k.view(b, n, attn.heads, -1).transpose(1, 2)
        v = v.view(b, n, attn.heads, -1).transpose(1, 2)
        v = attn.norm_v(v)
        x = mindiesd.attention_forward(q, k, v, head_first=True)
        return x.transpose(1, 2).reshape(b, n, -1)


class ForInherited:
    """A class of a third file inherits from the annotated one and has another layer there."""

    def __call__(self, attn: Inherited, hidden_states):
        b, n, c = hidden_states.shape
        query = attn.project_q(hidden_states).unflatten(-1, (attn.heads, -1)).transpose(1, 2)
        key = attn.project_k(hidden_states).unflatten(-1, (attn.heads, -1)).transpose(1, 2)
        value = attn.project_v(hidden_states).unflatten(-1, (attn.heads, -1)).transpose(1, 2)
        hidden_states = mindiesd.ext.attention_forward(query, key, value, head_first=True)
        return hidden_states.transpose(1, 2).flatten(-2)


class Rebound:
    """The name no longer means the parameter."""

    def __call__(self, attn: Attention, hidden_states, other):
        b, n, c = hidden_states.shape
        attn = other
        query = attn.to_q(hidden_states).unflatten(2, (attn.heads, -1)).transpose(1, 2)
        key = attn.to_k(hidden_states).unflatten(2, (attn.heads, -1)).transpose(1, 2)
        value = attn.to_v(hidden_states).unflatten(2, (attn.heads, -1)).transpose(1, 2)
        hidden_states = mindiesd.ext.attention_forward(query, key, value, head_first=True)
        return hidden_states.transpose(1, 2).flatten(2, 3)
