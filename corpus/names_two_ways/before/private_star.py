import torch.nn.functional as _F
from private import *


def attention(query, key, value):
    return _F.scaled_dot_product_attention(query, key, value)
