"""The accuracy rule of docs/runtime.md: against a float64 reference, the largest and the
root-mean-square error over the tensor are each at most 1.25 times the original's, or 2 units in the
last place of the result's type.

The largest of a few thousand rounding errors is chance: between seeds it moves by a factor of two. So
tensors of fewer than 2 ** 16 elements are held to the rule with their root-mean-square error, and with
their largest error to twice the bound; every operation also has a test with enough elements.
"""

import torch

HALF = (torch.float16, torch.bfloat16)
FLOATS = (torch.float32, *HALF)


def unit_in_last_place(magnitude, dtype):
    """Elementwise, for float64 magnitudes."""
    info = torch.finfo(dtype)
    exponent = torch.floor(torch.log2(magnitude.abs().clamp_min(info.tiny)))
    return torch.exp2(exponent) * info.eps


def assert_accurate(result, original, reference, magnitude=None):
    """``magnitude``: what the last place is relative to: the sum of the magnitudes of products, the
    norm of a rotated pair; default the reference itself."""
    pool = Pool()
    pool.add(result, original, reference, magnitude)
    pool.check()


class Pool:
    """Several results held to the rule as if they were one tensor."""

    def __init__(self):
        self.error, self.theirs, self.units = [], [], []

    def add(self, result, original, reference, magnitude=None):
        assert result.dtype == original.dtype, (result.dtype, original.dtype)
        assert result.shape == original.shape, (result.shape, original.shape)
        reference = reference.double()
        keep = torch.isfinite(reference)
        assert torch.equal(torch.isnan(result), torch.isnan(reference))
        assert torch.equal(torch.isinf(result)[~keep], torch.isinf(reference)[~keep])
        error = (result.double() - reference)[keep].abs()
        scale = reference if magnitude is None else magnitude
        unit = unit_in_last_place(scale.double().expand_as(reference)[keep], result.dtype)
        self.error.append(error)
        self.theirs.append((original.double() - reference)[keep].abs())
        self.units.append(error / unit)

    def check(self):
        error, theirs, units = (torch.cat(t) for t in (self.error, self.theirs, self.units))
        if error.numel() == 0:
            return

        def rms(values):
            return values.square().mean().sqrt().item()

        chance = 1 if error.numel() >= 2**16 else 2
        assert error.max() <= chance * 1.25 * theirs.max() or units.max() <= chance * 2, (
            f"largest error {error.max():.3g} ({units.max():.2f} ulp), original's {theirs.max():.3g}"
        )
        assert rms(error) <= 1.25 * rms(theirs) or rms(units) <= 2, (
            f"rms error {rms(error):.3g} ({rms(units):.2f} ulp), original's {rms(theirs):.3g}"
        )
