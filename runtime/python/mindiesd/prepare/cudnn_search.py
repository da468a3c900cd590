"""``cudnn-search``: cuDNN times its algorithms for each new shape of a convolution and keeps the fastest.

torch has the setting for the process, and the first call of each shape takes longer; the report says so.
"""

import torch
from torch import nn

from .step import Step

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


class Search:
    """The process did not have cuDNN search."""

    def undo(self, module):
        torch.backends.cudnn.benchmark = False


class CudnnSearch(Step):
    name = "cudnn-search"
    speed = "fast"

    def apply(self, work):
        convs = [m for m in work.names.modules.values() if isinstance(m, _CONVOLUTIONS)]
        if not any(p.is_cuda for m in convs for p in m._parameters.values() if p is not None):
            work.leave(None, "no convolution is on a CUDA device")
        elif torch.backends.cudnn.benchmark:
            work.leave(None, "the process has cuDNN search already")
        elif torch.backends.cudnn.deterministic or torch.are_deterministic_algorithms_enabled():
            work.leave(None, "the process wants the same algorithms each time")
        else:
            work.record(work.model, Search(), "has cuDNN search the fastest algorithm for each shape")
            torch.backends.cudnn.benchmark = True
            work.notes.append(
                "cudnn-search is a setting of the process: other models' convolutions are searched too, until restore; "
                "the first call of each shape takes longer"
            )
