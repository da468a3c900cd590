"""``tf32``: products of float32 matrices on CUDA's tensor cores, which read ten bits of each factor's fraction.

torch has the setting for the process, so that other models' products change as well; the report says so.
"""

import torch

from .step import Step


class Precision:
    """The process computed products with this setting."""

    def __init__(self, matmul, convolutions):
        self.matmul, self.convolutions = matmul, convolutions

    def undo(self, module):
        torch.set_float32_matmul_precision(self.matmul)
        torch.backends.cudnn.allow_tf32 = self.convolutions


class Tf32(Step):
    name = "tf32"
    speed = "fast"

    def apply(self, work):
        if not any(p.is_cuda and p.dtype == torch.float32 for p in work.model.parameters()):
            work.leave(None, "no parameter is of float32 on a CUDA device")
            return
        before = Precision(torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32)
        if before.matmul != "highest" and before.convolutions:
            work.leave(None, "the process computes with TF32 already")
            return
        work.record(work.model, before, "computes products of float32 by TF32")
        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.allow_tf32 = True
        work.notes.append("tf32 is a setting of the process: other models compute by TF32 too, until restore")
