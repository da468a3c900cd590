"""Attention that is written into its part of a wider tensor."""

import pytest
import torch
from accuracy import FLOATS
from mindiesd import ext
from mindiesd.utils import ParametersInvalid

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
    ),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("head_first", [False, True])
@pytest.mark.parametrize("device", DEVICES)
def test_into_a_slice_of_a_wider_tensor(backend, device, head_first, dtype):
    """With and without a mask, at places that vectors read and others, of another type, and of other ranks."""
    for start, target in ((16, dtype), (3, dtype), (0, torch.float32)):
        q, k, v = (torch.randn(2, 7, 4, 16, device=device).to(dtype) for _ in range(3))
        mask = torch.rand(2, 1, 7, 7, device=device) > 0.3
        if head_first:
            q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        for given in (None, mask):
            joined = torch.full((2, 7, 96), 5.0, device=device, dtype=target)
            out = joined[..., start : start + 64].unflatten(-1, (4, 16))
            out = out.transpose(1, 2) if head_first else out
            wanted = ext.attention_forward(q, k, v, given, head_first=head_first)
            for _ in range(2):
                found = ext.attention_forward(q, k, v, given, head_first=head_first, out=out)
                assert found is out
                torch.testing.assert_close(out, wanted.to(target), rtol=2e-2, atol=2e-3)
                assert (joined[..., :start] == 5).all() and (joined[..., start + 64 :] == 5).all()
    flat = torch.randn(4, 7, 16, device=device)
    out = torch.empty(4, 7, 16, device=device)
    ext.attention_forward(flat, flat, flat, head_first=True, out=out)
    torch.testing.assert_close(out, ext.attention_forward(flat, flat, flat, head_first=True))
    with pytest.raises(ParametersInvalid, match="out must have the result's shape"):
        ext.attention_forward(q, k, v, head_first=head_first, out=out)
    if backend == "kernels" and device == "cpu":
        with pytest.raises(RuntimeError, match="share memory"):
            ext.attention_forward(q, k, v, head_first=head_first, out=q)
