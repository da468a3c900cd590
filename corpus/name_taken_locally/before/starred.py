import torch.nn.functional as F
from settings import *


def act(x):
    return F.silu(x) * mindiesd
