from typing import TYPE_CHECKING

import mindiesd.ext
import torch
from torch.nn import functional as F

if TYPE_CHECKING:
    from torch import Tensor


def attend(q: "Tensor", k: "torch.Tensor", v) -> "F.Anything":
    return mindiesd.ext.attention_forward(q, k, v, head_first=True)
