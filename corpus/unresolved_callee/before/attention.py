import torch
from mystery.ops import *


def attend(q, k, v):
    return scaled_dot_product_attention(q, k, v)
