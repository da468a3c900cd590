"""Preparation after loading: what is right only when weights are there. Entry points: ``prepare`` and ``restore``.

A file a step; ``step`` has what they share, ``folding`` computes two modules as one, ``takeover`` computes a model's
forward another way, ``alone`` has what must be left alone, ``guard`` which calls are ordinary, ``trace`` watches a
model compute, ``compare`` compares results, ``change`` makes changes that can be taken back, and ``report`` says what
was done.
"""

import torch

from ..utils import ParametersInvalid, logger
from .alone import whole_model
from .batch_norm import FoldBatchNorm
from .change import restore
from .channels_last import ChannelsLast
from .compare import Examples, difference, narrowest
from .compiled import Compile
from .cudnn_search import CudnnSearch
from .dropout import RemoveDropout
from .graphs import CudaGraphs
from .half_precision import HalfPrecision, computed_in
from .int8_rows import Int8Rows
from .linear_pairs import LinearPairs
from .linears import MergeLinears
from .report import Entry, Report
from .step import SPEEDS, Step, Work
from .tf32 import Tf32

__all__ = ["Report", "STEPS", "Step", "prepare", "restore"]

STEPS = {
    step.name: step
    for step in (
        HalfPrecision(), RemoveDropout(), FoldBatchNorm(), LinearPairs(), Int8Rows(), MergeLinears(), ChannelsLast(),
        Tf32(), CudnnSearch(), Compile(), CudaGraphs(),
    )  # fmt: skip
}
"""The steps by name, in the order in which they run."""


def prepare(model, example_inputs=None, *, steps=None, speed="exact", tolerance=None, dtype=None, keep=()):
    """Changes a loaded model so that it computes the same faster, at inference.

    The model is changed in place; its parameters stay the same objects, with the same keys and values in
    ``state_dict``. Each step runs by itself. With example inputs its results are compared with those before it, and a
    step beyond its tolerance, or one that fails, is taken back. Modules that a step is not sure of stay as they are.
    The report names all. Nothing may compute with the model meanwhile.

    Args:
        model: a ``torch.nn.Module`` in eval mode, with its weights.
        example_inputs: what the model is called with: a tensor, a tuple of positional arguments, a dict of keyword
            arguments, or a list of such, one a call. Steps that watch the model compute need them.
        steps: names of the steps to run (the keys of ``STEPS``); None runs those of the profile, without those that
            must be named. A step that is named runs in the first profile that has it, where ``speed`` is below that.
        speed: ``"exact"``, the same bits; ``"close"``, rounding in another order; ``"fast"``, products of fewer bits.
        tolerance: by how much results may differ, of the largest element, instead of what the profile allows.
        dtype: the type that ``half-precision`` casts to, torch.bfloat16 where it is None.
        keep: names, or parts of them between dots, and classes of modules that it keeps in float32.

    Returns:
        A ``Report``. ``restore(model)`` or its ``restore()`` brings the first outputs back bit for bit.

    Raises:
        ParametersInvalid: an argument is none of these. What the model itself raises for the example inputs comes as
            it is. The model is unchanged then.
    """
    chosen = _chosen(model, steps, speed, tolerance)
    if not any(step.name == HalfPrecision.name for step in chosen) and (dtype is not None or keep):
        raise ParametersInvalid(f"dtype and keep are for the step {HalfPrecision.name!r}, which is not among the steps.")
    chosen = [step.of(model, dtype, keep) for step in chosen]
    examples = None if example_inputs is None else Examples(example_inputs)
    report = Report(speed, [step.name for step in chosen], _model=model)
    if why := whole_model(model):
        report.left += [Entry(step.name, "", why) for step in chosen]
        return report
    before, noise = None, 0.0
    if examples is not None:
        before, noise, why = _baseline(model, examples)
        if why is not None:
            report.notes.append(f"nothing is compared or watched: {why}")
            examples = None
    for step in chosen:
        work = Work(step, model, examples, named=steps is not None)
        before = _run(work, report, before, noise, tolerance)
    return report


def _chosen(model, steps, speed, tolerance):
    if not isinstance(model, torch.nn.Module):
        raise ParametersInvalid(f"model must be a torch.nn.Module, but a {type(model).__name__} is given.")
    if speed not in SPEEDS:
        raise ParametersInvalid(f"speed must be one of {', '.join(map(repr, SPEEDS))}, but {speed!r} is given.")
    if tolerance is not None and not (isinstance(tolerance, (int, float)) and tolerance >= 0):
        raise ParametersInvalid(f"tolerance must be None or a number of at least 0, but {tolerance!r} is given.")
    if steps is None:
        most = SPEEDS.index(speed)
        return [step for step in STEPS.values() if not step.only_named and SPEEDS.index(step.speed) <= most]
    if isinstance(steps, str):
        raise ParametersInvalid(f"steps must be a list of names, but the text {steps!r} is given; write [{steps!r}].")
    if unknown := [name for name in steps if name not in STEPS]:
        raise ParametersInvalid(
            f"steps must be some of {', '.join(STEPS)}, but {', '.join(map(repr, unknown))} is given."
        )
    return [step for name, step in STEPS.items() if name in steps]


def _baseline(model, examples):
    """The model's results, by how much they differ from run to run, and why they cannot be used, or None."""
    buffers = [(buffer, buffer._version, buffer.clone()) for buffer in model.buffers() if _versioned(buffer)]
    holders = [(module._buffers, dict(module._buffers)) for module in model.modules()]
    try:
        before = examples.run(model)
        written = any(buffer._version != version for buffer, version, _ in buffers) or _replaced(holders)
    finally:
        for now, then in holders:
            now.clear()
            now.update(then)
        for buffer, version, value in buffers:
            if buffer._version != version:
                buffer.data.copy_(value)
    if written:
        return None, 0.0, "a call of the model writes to its buffers"
    tensors = [value for call in before for value in call if isinstance(value, torch.Tensor)]
    if not tensors:
        return None, 0.0, "the model returns no tensors"
    if any(tensor.is_meta for tensor in tensors):
        return None, 0.0, "the model's results have no values, as some of its parameters have none"
    return before, difference(before, examples.run(model)), None


def _replaced(holders):
    """Whether a module has another buffer than it had."""
    return any(now.keys() != then.keys() or any(now[k] is not then[k] for k in then) for now, then in holders)


def _versioned(buffer):
    return type(buffer) is torch.Tensor and not buffer.is_inference() and not buffer.is_meta


def _run(work, report, before, noise, tolerance):
    """Runs a step; gives the results that the next one is compared with."""
    step, model, examples = work.step, work.model, work.examples
    profile = max(step.speed, report.speed, key=SPEEDS.index)
    most = tolerance
    if examples is not None and most is None:
        cuda = any(tensor.is_cuda for tensor in model.parameters())
        most = step.tolerance(profile, computed_in(model) or narrowest(before), cuda=cuda)
    if step.needs_examples and examples is None:
        report.left.append(Entry(step.name, "", "it decides by watching the model compute: give example_inputs"))
        return before
    if examples is not None and noise > most:
        text = f"two runs of the model on the same inputs differ by {noise:.2g}, more than the allowed {most:.2g}"
        report.left.append(Entry(step.name, "", text))
        return before
    after, why = before, None
    try:
        step.apply(work)
        if work.changes and examples is not None:
            after = examples.run(model)
            error = difference(before, step.results(before, after))
            report.errors[step.name], report.tolerances[step.name] = error, most
            if report.errors[step.name] > most:
                why = f"taken back: results differ by {report.errors[step.name]:.2g}, more than {most:.2g}"
    except Exception as error:  # noqa: BLE001 - whatever a model may raise, it must be as it was before
        why = f"taken back: {type(error).__name__}: {error}"
        logger.warning("prepare: the step %s failed and is taken back: %s", step.name, error)
    if why is not None:
        work.undo()
        report.left.append(Entry(step.name, "", why))
        return before
    report.changes += work.changes
    report.left += work.left
    report.notes += work.notes
    return after
