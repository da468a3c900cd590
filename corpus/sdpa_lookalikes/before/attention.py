"""Functions that merely have the name."""

import torch


def scaled_dot_product_attention(query, key, value, attn_mask=None):
    """Linear attention, whatever its name says."""
    return query @ (key.transpose(-2, -1) @ value)


def attend(q, k, v):
    return scaled_dot_product_attention(q, k, v)


def through_parameter(q, k, v, scaled_dot_product_attention):
    return scaled_dot_product_attention(q, k, v)


class Attention(torch.nn.Module):
    def scaled_dot_product_attention(self, q, k, v):
        return q + k + v

    def forward(self, q, k, v):
        return self.scaled_dot_product_attention(q, k, v)


def through_object(backend, q, k, v):
    return backend.scaled_dot_product_attention(q, k, v)
