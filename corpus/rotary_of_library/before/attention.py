"""Rotations that libraries define, which nothing here shows to be one or another, and a parameter of such a name."""

from rotations.tables import apply_rotary_tables
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb


def turn(q, k, cos, sin):
    q, k = apply_rotary_pos_emb(q, k, cos, sin)
    return q @ k.transpose(-2, -1)


def turn_one(x, tables):
    return apply_rotary_tables(x, tables)


def handed(apply_rotary, x):
    return apply_rotary(x)
