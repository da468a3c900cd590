import sys

import helper
import imported_name
import module_name as target
import parts
import torch


def install(functions):
    target.F = functions
    imported_name.sdpa = functions.attend
    parts.pieces.F = functions
    setattr(sys.modules["by_setattr"], "functional", functions)
    helper.rotate_half = functions.rotate
    torch.rsqrt = functions.rsqrt
    sys.modules["xformers.ops"] = functions
