"""A change counts as shown to be right only if putting the old callees back gives the source."""

import pytest
from survey import pairs, undone

BEFORE = """
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        self.norm = nn.LayerNorm(width)
        self.other = Other(width)
        self.act = nn.GELU("tanh")

    def forward(self, x, y):
        return F.silu(self.norm(x)) + self.other(y)
"""
AFTER = BEFORE.replace('nn.GELU("tanh")', 'mindiesd.ext.GELU(approximate="tanh")').replace(
    "F.silu(self.norm(x))", "mindiesd.ext.silu(mindiesd.fast_layernorm(self.norm, x))"
)
FAULTS = {
    "another argument": ("(self.norm, x)", "(self.norm, y)"),
    "another activation": ("ext.silu", "ext.gelu"),
    "another form": ('approximate="tanh"', ""),
    "another operator": ("+ self.other", "- self.other"),
    "no layer norm": ("self.other(y)", "mindiesd.fast_layernorm(self.other, y)"),
    "a call that has no counterpart": ("self.other(y)", "mindiesd.ext.softmax(y)"),
}


def shown(before: str, after: str) -> list[bool]:
    return [undone.undone(before, change) for change in pairs.changes(before, after)]


def test_what_undone_gives_the_source_is_shown():
    assert shown(BEFORE, AFTER) == [True, True]


def test_a_norm_that_may_be_none_is_a_norm():
    old = "self.norm = nn.LayerNorm(width)"
    branches = f"if width:\n            {old}\n        else:\n            self.norm = None"
    assert shown(BEFORE.replace(old, branches), AFTER.replace(old, branches)) == [True, True]
    only = [text.replace(old, "self.norm = None") for text in (BEFORE, AFTER)]
    assert False in shown(*only)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_not_shown(fault):
    old, new = FAULTS[fault]
    assert old in AFTER
    assert False in shown(BEFORE, AFTER.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import torch.nn.functional as F", "import functional as F"),
        ("self.norm = nn.LayerNorm(width)", "self.norm = make(width)"),
        ("self.other = Other(width)", "self.other = Other(width)\n        self.norm = self.other"),
        ("class Block", "def nn():\n    pass\n\n\nclass Block"),
        ("def forward", "def swap(self):\n        self.norm, self.act = 1, 2\n\n    def forward"),
    ],
    ids=["another module", "made elsewhere", "stored twice", "bound twice", "in a tuple"],
)
def test_a_meaning_that_is_not_shown_is_none(old, new):
    before, after = (text.replace(old, new) for text in (BEFORE, AFTER))
    assert False in shown(before, after)


def test_a_subclass_that_stores_another_norm_counts():
    heir = '''

class Heir(Block):
    def __init__(self, width):
        super().__init__(width)
        self.norm = nn.Identity()
'''
    assert False in shown(BEFORE + heir, AFTER + heir)
