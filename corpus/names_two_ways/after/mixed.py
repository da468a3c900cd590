import torch.nn.functional as F
from others import *
