"""What torch's own rms_norm does, which changed between versions: eps=None and result_type="torch"
follow the torch in use. Asked of torch once, on the CPU.

Up to 2.6 it was composed of operators in the operands' types: the result has their promoted type, and the
default eps is that of the operand's type. From 2.8 on it computes in float32 at least and has the
operand's type. The result became contiguous later still.
"""

import warnings

import torch
import torch.nn.functional as F


def _ask():
    half = torch.ones(2, 4, dtype=torch.float16, device="cpu")
    tiny = half * 1e-3
    turned = torch.ones(2, 3, 4, dtype=torch.float32, device="cpu").transpose(0, 1)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # about the two types
        promotes = F.rms_norm(half, (4,), half[0].float()).dtype == torch.float32
        own_eps = bool(F.rms_norm(tiny, (4,))[0, 0] < 0.5)  # float32's eps gives 0.94, its own 0.03
        contiguous = F.rms_norm(turned, (4,)).is_contiguous()
    return promotes, own_eps, contiguous


PROMOTES, OWN_EPS, CONTIGUOUS = _ask()
"""Whether the result has the promoted type of operand and weight; whether eps=None is the machine epsilon of
the operand's type, and not of float32 for half precisions; whether the result is contiguous."""

AUTOCAST_RULE = "aten::pow.Tensor_Scalar" if PROMOTES else "aten::rms_norm"
"""The operator whose autocast rule decides about rms_norm: composed, it is that of its square."""
