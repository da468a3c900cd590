"""The comparison itself: faults put into a copy of the package by hand are found."""

import pytest
from proof import compare, migration, processes

# Model that must notice -> file, text as it stands, text with the fault.
FAULTS = {
    "wan": (
        "models/transformers/transformer_wan.py",
        "out[..., 0::2] = x1 * cos - x2 * sin",
        "out[..., 0::2] = x1 * cos + x2 * sin",
    ),
    "flux": (
        "models/embeddings.py",
        "x_rotated = torch.stack([-x_imag, x_real], dim=-1).flatten(3)",
        "x_rotated = torch.stack([x_imag, x_real], dim=-1).flatten(3)",
    ),
    "ltx": (
        "models/transformers/transformer_ltx.py",
        "            attn_mask=attention_mask,\n",
        "            attn_mask=None,\n",
    ),
    "mochi": (
        "models/normalization.py",
        "if self.weight is not None:\n            hidden_states = hidden_states * self.weight\n",
        "if False:\n            hidden_states = hidden_states * self.weight\n",
    ),
    "sd3": (
        "models/normalization.py",
        "torch.rsqrt(variance + self.eps)\n\n            if",
        "torch.rsqrt(variance + 1e-5)\n\n            if",
    ),
    "lumina2": (
        "models/transformers/transformer_lumina2.py",
        "query, key, value, attn_mask=attention_mask, scale=softmax_scale",
        "query, key, value, attn_mask=None, scale=softmax_scale",
    ),
}


@pytest.fixture(scope="session")
def faulty_results(library, original_results, weights, tmp_path_factory):
    """Results of a copy with every fault of FAULTS put in."""
    root = migration.copy_package(library, tmp_path_factory.mktemp("faulty"))
    for file, before, after in FAULTS.values():
        path = root / migration.PACKAGE / file
        text = path.read_text(encoding="utf-8")
        if text.count(before) < 1:
            pytest.fail(f"{file} no longer holds the text to put a fault into: {before!r}")
        path.write_text(text.replace(before, after, 1), encoding="utf-8")
    out = tmp_path_factory.mktemp("results") / "faulty.pt"
    return processes.run_worker(root, out, weights, FAULTS)


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found(original_results, faulty_results, name):
    assert "error" not in faulty_results[name], faulty_results[name]
    differences = [
        compare.relative_difference(before, after)
        for before, after in zip(
            original_results[name]["torch.float32"]["outputs"],
            faulty_results[name]["torch.float32"]["outputs"],
            strict=True,
        )
    ]
    assert max(differences) > 10 * compare.FLOAT32_TOLERANCE


def test_line_map_follows_edits():
    before = "a\nb\nc\nd\n"
    after = "import x\na\nB\nc\nd\n"
    lines = migration.LineMap(before, after)
    assert [lines.original(line) for line in range(1, 6)] == [None, 1, None, 3, 4]
