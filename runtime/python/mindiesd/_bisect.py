"""What finds the call that makes a result wrong: families computed by torch code instead of kernels, and calls
computed by both. Entry points: ``disable`` and ``check_forms``, which MINDIESD_CHECK=1 asks for."""

import atexit
import functools
import inspect
import sys
import threading

import torch

from . import _eager, _forms
from ._refusals import OWN_CODE, described
from .utils import ParametersInvalid, logger

_IN_PLACE = ("attention_into", "activation_into", "linear_activation_into", "rotary_in_place", "rotary_qk_in_place")
# By which two results may differ, of the largest element: eight units in the last place of half types; of wider
# ones what float32 sums in another order give.
_ALLOWED = {torch.float16: 8 * 2.0**-11, torch.bfloat16: 8 * 2.0**-8}
_ALLOWED_OF_WIDE = 1e-4


class disable:  # noqa: N801 - called as a function, as torch.no_grad is
    """Has torch code compute families of operators instead of kernels, with the same results and layouts, to
    find what makes a result wrong. It holds for the process from the call on, in a ``with`` statement to its end.

    Args:
        *families: some of ``"attention"``, ``"norm"``, ``"rotary"``, ``"softmax"``, ``"activation"``, or
            ``"all"``. They are added to those that MINDIESD_DISABLE or an earlier call names; none enables all.

    Raises:
        ParametersInvalid: a family of another name.
    """

    def __init__(self, *families):
        known = (*_forms.FAMILIES, "all")
        if unknown := [f for f in families if not isinstance(f, str) or f not in known]:
            raise ParametersInvalid(
                f"families must be some of {', '.join(known)}, but {', '.join(map(repr, unknown))} is given."
            )
        self._before = _forms._disabled
        named = _forms.FAMILIES if "all" in families else families
        _set_disabled(self._before | set(named) if families else frozenset())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _set_disabled(self._before)


def _set_disabled(families):
    _forms._disabled = frozenset(families)
    _eager.forget()


class _Checks:
    """The calls that were compared: how many, and the lines whose difference has been reported."""

    def __init__(self):
        self.calls, self.different, self.reported = 0, 0, set()
        self.lock = threading.RLock()
        self.inside = False

    def summary(self):
        logger.warning(
            "MINDIESD_CHECK: %d calls were compared with torch code; %d gave something else.",
            self.calls, self.different,
        )  # fmt: skip


def _calling_line():
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OWN_CODE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "unknown line"


def _tensors(values):
    values = values if isinstance(values, (tuple, list)) else (values,)
    return [value for value in values if isinstance(value, torch.Tensor)]


def _difference(found, expected):
    """What sets two results apart, in words; None where they agree."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{described(found)} instead of {described(expected)}"
    if found.is_nested or found.numel() == 0:
        return None
    a, b = found.detach(), expected.detach()
    if not (a.is_floating_point() or a.is_complex()):
        return None if torch.equal(a, b) else "other elements"
    allowed = _ALLOWED.get(a.dtype, _ALLOWED_OF_WIDE)
    wide = torch.complex128 if a.is_complex() else torch.float64
    a, b = a.to(wide), b.to(wide)
    same = (a == b) | (a.isnan() & b.isnan())
    distance = torch.where(same, 0.0, (a - b).abs()).nan_to_num(nan=torch.inf)
    largest = torch.where(b.isfinite(), b.abs(), 0.0).max().item()
    worst = distance.max().item()
    if worst <= allowed * largest:
        return None
    place = [int(i) for i in torch.unravel_index(distance.argmax(), distance.shape)]
    return (
        f"at {place} {a[tuple(place)].item():.6g} instead of {b[tuple(place)].item():.6g}, where "
        f"{allowed * largest:.3g} is allowed"
    )


def _by_torch_code(form, arguments):
    before = _forms._disabled
    _forms._disabled = frozenset(_forms.FAMILIES)
    try:
        return form(*arguments)
    finally:
        _forms._disabled = before


def _compared(form, checks):
    in_place = form.__name__ in _IN_PLACE
    names = list(inspect.signature(form).parameters)

    def compare(arguments):
        given = [a.clone() if in_place and isinstance(a, torch.Tensor) else a for a in arguments]
        expected = _tensors(_by_torch_code(form, given))
        result = form(*arguments)
        found = _tensors(result)
        if in_place:
            found, expected = found + _tensors(arguments), expected + _tensors(given)
        checks.calls += 1
        differences = [d for pair in zip(found, expected) if (d := _difference(*pair)) is not None]
        if differences:
            checks.different += 1
            line = _calling_line()
            if line not in checks.reported:
                checks.reported.add(line)
                shown = names if len(names) == len(arguments) else [""] * len(arguments)
                operands = [
                    f"{name} {described(a)}".strip()
                    for name, a in zip(shown, arguments)
                    if isinstance(a, torch.Tensor)
                ]
                logger.warning(
                    "MINDIESD_CHECK: %s, called from %s, gives %s by torch code's result; operands: %s.",
                    form.__name__, line, differences[0], ", ".join(operands),
                )  # fmt: skip
        return result

    @functools.wraps(form)
    def call(*arguments):
        if torch.compiler.is_compiling() or _forms._wants_derivative(*_tensors(arguments)):
            return form(*arguments)
        with checks.lock:
            if checks.inside:
                return form(*arguments)
            checks.inside = True
            try:
                return compare(arguments)
            finally:
                checks.inside = False

    return call


def check_forms():
    """Has every call computed by its kernel and by torch code from here on. The first difference of each line
    that calls is logged, and at the end of the process how many calls were compared."""
    checks = _Checks()
    for name, form in list(vars(_forms).items()):
        public = inspect.isfunction(form) and form.__module__ == _forms.__name__
        if public and not name.startswith("_"):
            setattr(_forms, name, _compared(form, checks))
    atexit.register(checks.summary)
    return checks
