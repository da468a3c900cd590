"""What the steps of a preparation share. Entry points: ``Step``, ``Work``, ``SPEEDS`` and ``allowed``."""

import torch

from .alone import Names, reason
from .change import add_record, swap_class, undo_last
from .report import Entry

SPEEDS = ("exact", "close", "fast")
"""Profiles, each of which allows what those before it allow: the same bits; another order of rounding in the model's
own types; fewer bits in products."""

# By how much results may differ, of the largest element: eight units in the last place of half types; of wider ones
# what sums in another order give; where products have fewer bits, what those of TF32 give.
_ALLOWED = {
    "exact": {},
    "close": {torch.bfloat16: 8 * 2.0**-8, torch.float16: 8 * 2.0**-11, torch.float32: 2e-5, torch.float64: 1e-12},
    "fast": {torch.bfloat16: 8 * 2.0**-8, torch.float16: 8 * 2.0**-11, torch.float32: 5e-3, torch.float64: 5e-3},
}


def allowed(speed, dtype, *, cuda):
    """By how much results of this type may differ in this profile. cuda: whether they are computed there, where torch
    has cuDNN compute convolutions of float32 by TF32 unless it is told otherwise."""
    by_tf32 = torch.backends.cudnn.allow_tf32 or torch.get_float32_matmul_precision() != "highest"
    if speed == "close" and dtype == torch.float32 and cuda and by_tf32:
        speed = "fast"
    return _ALLOWED[speed].get(dtype, 0.0)


class Step:
    """One kind of change. name: by which users choose it. speed: the first profile that has it. needs_examples: whether
    it decides by watching the model compute. only_named: whether no profile runs it."""

    name = ""
    speed = "exact"
    needs_examples = False
    only_named = False

    def tolerance(self, profile, dtype, *, cuda):
        """By how much results of this type may differ in a profile, of the largest element."""
        return allowed(profile, dtype, cuda=cuda)

    def of(self, model, half, keep):
        """The step for what the user gave beside; see ``half_precision``."""
        return self

    def results(self, before, after):
        """What is compared with the results before."""
        return after

    def apply(self, work):
        """Makes the changes through ``work``. An exception takes back what it made."""
        raise NotImplementedError


class Work:
    """One step on one model. model, names: the model and its modules; examples: None where there are none; named:
    whether the user named the step. What was changed and left alone is kept until the step is over."""

    def __init__(self, step, model, examples, *, named=False):
        self.step, self.model, self.examples, self.named = step, model, examples, named
        self.names = Names(model)
        self.changes, self.left, self.notes = [], [], []
        self._changed = []

    def swap(self, module, prepared, text=None, **state):
        """Makes a module one of another class; without a text, as part of a change that another call reports."""
        swap_class(module, prepared, **state)
        self._keep(module, text)

    def record(self, module, record, text=None):
        """Keeps how to take back a change that has been made."""
        add_record(module, record)
        self._keep(module, text)

    def _keep(self, module, text):
        self._changed.append(module)
        if text is not None:
            self.changes.append(Entry(self.step.name, self.names.name[id(module)], text))

    def leave(self, module, text):
        where = "" if module is None else self.names.name[id(module)]
        self.left.append(Entry(self.step.name, where, text))

    def usable(self, module, kinds):
        """Whether a module may be changed; says why not."""
        why = reason(self.names, module, kinds)
        if why is not None:
            self.leave(module, why)
        return why is None

    def undo(self):
        for module in reversed(self._changed):
            undo_last(module)
        self._changed.clear()
        self.changes.clear()
