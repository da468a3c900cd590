"""What is given for a norm and cannot be called is a wrong parameter, whatever else the call is given."""

import pytest
import torch
from mindiesd import ext
from mindiesd.utils import ParametersInvalid

X = torch.randn(2, 3, 4, 8)
NO_NORMS = [X, "norm", 1.5, True, [1], {}, object()]
CALLS = {
    "norm_scale_shift": (ext.norm_scale_shift, {"x": X}, ("norm",)),
    "residual": (ext.residual, {"x": X, "branch": X}, ("branch_norm",)),
    "residual_norm": (
        ext.residual_norm,
        {"norm": torch.nn.LayerNorm(8), "x": X, "branch": X},
        ("norm", "branch_norm"),
    ),
    "group_norm": (ext.group_norm, {"x": X}, ("norm",)),
    "norm_rotary": (ext.norm_rotary, {"x": X, "cos": X, "sin": X}, ("norm",)),
    "joint_heads": (
        ext.joint_heads,
        {name: X for key in ("query", "key", "value") for name in (key, f"other_{key}")},
        ("query_norm", "key_norm", "other_query_norm", "other_key_norm"),
    ),
}
CASES = [(call, name) for call, (_, _, names) in CALLS.items() for name in names]


@pytest.mark.parametrize(("call", "name"), CASES)
@pytest.mark.parametrize("value", NO_NORMS, ids=lambda value: type(value).__name__)
def test_is_refused_by_its_name(call, name, value):
    function, given, _ = CALLS[call]
    with pytest.raises(ParametersInvalid, match=rf"\. {name} must be a module"):
        function(**{**given, name: value})


@pytest.mark.parametrize("call", ["norm_scale_shift", "residual_norm", "group_norm"])
def test_a_norm_that_must_be_given_is_not_none(call):
    function, given, _ = CALLS[call]
    with pytest.raises(ParametersInvalid, match=r"\. norm must be a module"):
        function(**{**given, "norm": None})
