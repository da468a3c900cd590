"""Images of twice the size: every type, planes and channels last, widths and addresses between vectors."""

import pytest
import torch
import torch.nn.functional as F
from gpu_support import TYPES, normal

launchers = pytest.importorskip("launchers", reason="no library of launchers", exc_type=OSError)

# Rows of whole vectors and of none, one place, channels of whole vectors and of none, more than one wave.
SHAPES = (
    (2, 3, 5, 8), (2, 3, 5, 7), (1, 1, 1, 1), (3, 8, 4, 6), (2, 20, 9, 11), (1, 64, 33, 40), (2, 320, 64, 64),
    (1, 33, 257, 1024),
)  # fmt: skip
LAYOUTS = {"planes": torch.contiguous_format, "last": torch.channels_last}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: f"dtype{TYPES.index(dtype)}")
@pytest.mark.parametrize("shift", [0, 1])
def test_is_torchs(layout, dtype, shift):
    """``shift``: elements between the addresses and those of vectors."""
    for shape in SHAPES:
        x = normal(*shape, dtype=dtype).contiguous(memory_format=LAYOUTS[layout])
        expected = F.interpolate(x, scale_factor=2.0, mode="nearest")
        x, result = (
            torch.as_strided(t.new_full((t.numel() + shift,), 123.0), t.shape, t.stride(), shift) for t in (x, expected)
        )
        x.copy_(normal(*shape, dtype=dtype))
        expected = F.interpolate(x.clone(), scale_factor=2.0, mode="nearest")
        if layout == "last" and x.is_contiguous():  # one channel or one place: planes as well
            continue
        assert torch.equal(launchers.upsample(x, result), expected)
