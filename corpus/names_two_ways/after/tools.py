"""The one that Python does not take: a package of that name lies beside it."""

import torch.nn.functional as F
