import torch.nn.functional as F
from own import *


def attend(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)
