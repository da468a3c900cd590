"""What every model of this tree imports."""

import torch.nn.functional as F
from torch import nn
