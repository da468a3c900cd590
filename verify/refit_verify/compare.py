"""Measures how far two results are from the float64 one.

Entry points: `Pool`, which gathers errors over several inputs, and `Differs`. Whether the errors
keep the rule of accuracy, `driver` decides from the numbers.
"""

from __future__ import annotations

import torch


class Differs(Exception):
    """The migrated code gives something of another kind: type, shape, number, or an error."""


def _kind(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"


class Pool:
    """Errors by kind of input and by number of the result: as over one tensor of all inputs.

    They are relative to the result's size, and where the results are weighted means (attention) to
    that of the inputs, where these are larger.
    """

    def __init__(self):
        self.entries: dict[str, dict] = {}

    def add(self, kind: str, before, after, exact, inputs, averages: bool) -> None:
        """Compares one call's results. Raises Differs."""
        if len(before) != len(after):
            raise Differs(f"{len(before)} tensors become {len(after)}")
        sizes = [t for t in inputs if t.is_floating_point()] if averages else []
        for number, (old, new, true) in enumerate(zip(before, after, exact)):
            if (old.dtype, old.shape) != (new.dtype, new.shape):
                raise Differs(f"a result of {_kind(old)} becomes one of {_kind(new)}")
            if not (old.is_floating_point() or old.is_complex()):
                if not torch.equal(old, new):
                    raise Differs(f"a result of {_kind(old)} has other values")
                continue
            if old.numel() == 0:
                continue
            self._measure(f"{kind}/{number}", old, new, true, sizes)

    def _measure(self, key, old, new, true, sizes) -> None:
        wide = true.dtype
        hidden = old.isnan() & (new.isnan() | (new == 0))  # rows without a key may become zeros
        hidden |= old.isinf() & (old == new)
        kept = ~hidden
        if not bool(new[kept].isfinite().all()):
            raise Differs("a result has NaN or infinity where the original has none")
        if not bool(old[kept].isfinite().all()):
            raise Differs("a result is finite where the original's is not")
        kept &= true.isfinite()
        true = true[kept]
        was, now = (t[kept].to(wide) - true for t in (old, new))
        largest = max([_max(true), *(_max(t) for t in sizes)]) or 1.0
        mean = max([_mean_square(true), *(_mean_square(t) for t in sizes)]) or 1.0
        entry = self.entries.setdefault(
            key,
            {
                "dtype": str(old.dtype).removeprefix("torch."),
                "eps": torch.finfo(old.dtype).eps,
                "max": [0.0, 0.0], "squares": [0.0, 0.0], "count": 0,
            },
        )  # fmt: skip
        for i, error in enumerate((was, now)):
            entry["max"][i] = max(entry["max"][i], _max(error) / largest)
            entry["squares"][i] += _mean_square(error) / mean * error.numel()
        entry["count"] += true.numel()


def _finite(tensor: torch.Tensor) -> torch.Tensor:
    """Magnitudes, without the infinities that a mask holds."""
    return tensor[tensor.isfinite()].abs().double()


def _max(tensor: torch.Tensor) -> float:
    sizes = _finite(tensor)
    return float(sizes.max()) if sizes.numel() else 0.0


def _mean_square(tensor: torch.Tensor) -> float:
    sizes = _finite(tensor)
    return float(sizes.square().mean()) if sizes.numel() else 0.0
