import torch.nn.functional as F
from torchs import *
