"""Passes over the hidden states of transformer blocks (bench/models_bench.py), held to what they are.

The migrated figures are the most that a change may leave: who lowers one lowers its line here and in
docs/models.md.
"""

import pathlib
import sys

import pytest

pytest.importorskip("torch", reason="torch is not installed; ./dev test installs it")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import models_bench  # noqa: E402

# Block -> passes of the original, of the migrated block at most; launches of the migrated block at most.
PASSES = {
    "Flux, two streams": (130.2, 17.0, 11),
    "Flux, one stream": (125.2, 23.0, 7),
    "SD3.5": (72.2, 15.9, 12),
    "Wan": (187.7, 20.3, 9),
    "HunyuanVideo, two streams": (118.2, 20.8, 15),
    "HunyuanVideo, one stream": (121.2, 26.8, 9),
    "CogVideoX": (93.4, 28.7, 18),
    "LTX-Video": (181.7, 26.3, 9),
    "Lumina 2": (193.3, 30.0, 9),
    "Qwen-Image": (91.2, 24.1, 24),
    "PixArt": (37.0, 29.0, 16),
    "Sana": (75.6, 58.6, 19),
    "SDXL's transformer": (39.0, 31.0, 9),
    "SDXL's ResNet": (15.0, 13.0, 7),
}


@pytest.fixture(scope="module")
def counts(original, migrated):
    roots = {"original": original, "migrated": migrated.root}
    return {name: models_bench.counted(root, PASSES, "eager") for name, root in roots.items()}


@pytest.mark.parametrize("block", PASSES)
def test_passes(counts, block):
    original, most, launches = PASSES[block]
    assert round(counts["original"][block]["passes"], 1) == original
    assert round(counts["migrated"][block]["passes"], 1) <= most
    assert counts["migrated"][block]["launches"] <= launches


def test_what_counts():
    """An operand and a result each once, an expanded dimension once, no view, no product."""
    import torch

    x, weight = torch.zeros(64, 32), torch.zeros(32, 32)
    with models_bench.Traffic() as traffic:
        y = x.t().contiguous().t() + weight[0].expand(64, 32)
        y @ weight
        y.add_(1)
    size = x.numel() * x.element_size()
    assert traffic.launches == {"aten::clone": 1, "aten::add": 1, "aten::add_": 1}
    assert traffic.bytes == {"aten::clone": 2 * size, "aten::add": 2 * size + 128, "aten::add_": 2 * size}
