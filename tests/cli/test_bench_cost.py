"""What the bench says that a command took is the command's own (bench/rewriter_bench.py)."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_memory_is_that_of_the_command(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    import rewriter_bench

    held = bytearray(b"1") * (300 << 20)
    small = rewriter_bench.run([sys.executable, "-S", "-c", "pass"])
    large = rewriter_bench.run([sys.executable, "-S", "-c", "b'1' * (100 << 20)"])
    assert len(held) > 0
    assert small.memory < 60 < 100 < large.memory
    assert small.cpu > 0
