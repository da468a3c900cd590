"""The choice among back ends of attention: modes, measuring, what is remembered and where."""

import json
import logging
import os
import subprocess
import sys
import time

import mindiesd
import pytest
import torch
from mindiesd import __main__ as command
from mindiesd import _backends, _eager, _library, _memory, ext
from mindiesd.utils import ParametersInvalid

pytestmark = pytest.mark.usefixtures("nothing_remembered")
CPU = torch.device("cpu")


class TwoBackends:
    """The CPU kernel under two names, of which "slow" takes a millisecond longer; keeps what was
    launched: (name, whether on the caller's memory)."""

    def __init__(self):
        self.slow, self.refuses = "first", None
        self.launched = []
        self.callers = []  # kept alive, or their memory would serve as scratch
        self.original = _library.attention

    names = ("first", "cudnn")
    offsets = _library.attention.offsets

    def supported(self, tensors, *, backend, **options):
        return self.names[backend - 1] != self.refuses

    def __call__(self, tensors, *, backend, **options):
        name = "library" if backend == 0 else self.names[backend - 1]
        own = any(tensors["query"] is q for q in self.callers)
        self.launched.append((name, own))
        if name == self.slow:
            time.sleep(1e-3)
        return self.original(tensors, **options, backend=0)

    def attend(self, **options):
        q = torch.randn(1, 5, 2, 8)
        self.callers.append(q)
        wanted = torch.nn.functional.scaled_dot_product_attention(*[q.transpose(1, 2)] * 3)
        found = mindiesd.attention_forward(q, q, q, **options)
        torch.testing.assert_close(found, wanted.transpose(1, 2))
        launched = [name for name, own in self.launched if own]
        self.launched, measured = [], len(self.launched) - len(launched)
        _eager.forget()
        return launched, measured


@pytest.fixture
def two(monkeypatch):
    made = TwoBackends()
    monkeypatch.setattr(_library, "attention_backends", lambda device_type: made.names)
    monkeypatch.setattr(_library, "attention_supported", made.supported)
    monkeypatch.setattr(_library, "attention", made)
    return made


def test_modes(two):
    assert two.attend(opt_mode="static") == (["library"], 0)
    assert two.attend(opt_mode="manual") == (["library"], 0)
    assert two.attend(opt_mode="manual", op_type="cudnn") == (["cudnn"], 0)
    assert two.attend(opt_mode="manual", op_type="fused_attn_score") == (["cudnn"], 0)
    assert two.attend(opt_mode="manual", op_type="prompt_flash_attn") == (["first"], 0)
    assert two.attend(opt_mode="manual", op_type="ascend_laser_attention") == (["first"], 0)
    assert two.attend(opt_mode="manual", op_type="math") == ([], 0)
    two.refuses = "cudnn"
    assert two.attend(opt_mode="manual", op_type="cudnn") == (["library"], 0)


def test_environment_goes_first(two, monkeypatch):
    monkeypatch.setenv("MINDIE_SD_FA_TYPE", "fused_attn_score")
    assert two.attend() == (["cudnn"], 0)
    assert two.attend(opt_mode="manual", op_type="first") == (["cudnn"], 0)
    monkeypatch.setenv("MINDIE_SD_FA_TYPE", "nothing")
    with pytest.raises(ParametersInvalid, match="MINDIE_SD_FA_TYPE must be one of .*first.*math"):
        two.attend()


@pytest.mark.parametrize("slow", TwoBackends.names)
def test_runtime_takes_the_fastest_and_remembers(two, slow):
    two.slow = slow
    (fast,) = set(two.names) - {slow}
    launched, measured = two.attend()
    assert launched == [fast] and measured == 2 * (_backends._WARM + _backends._TIMED)
    assert two.attend() == ([fast], 0)
    assert two.attend(opt_mode="runtime") == ([fast], 0)
    _memory.forget()  # a new process
    assert two.attend() == ([fast], 0)
    content = json.loads(_memory.path(CPU).read_text())
    assert [e["backend"] for e in content["entries"].values()] == [fast]
    assert content["versions"]["library"] == _library.version


@pytest.mark.parametrize(
    "microseconds, best",
    [
        (dict(cudnn=400, tensor_core=800, torch=399), "cudnn"),  # noise
        (dict(cudnn=400, tensor_core=800, torch=380), "torch"),
        (dict(tensor_core=250, torch=150), "torch"),
        (dict(cudnn=6, tensor_core=8, torch=5), "tensor_core"),  # the host's part decides
        (dict(cudnn=20, tensor_core=30, torch=19), "cudnn"),
        (dict(first=2, second=1), "second"),
    ],
)
def test_what_counts_as_fastest(microseconds, best):
    assert _backends.best_of({n: 1e-6 * t for n, t in microseconds.items()}) == best


def test_a_mask_costs_the_host():
    times = {"torch": 15e-6, "cudnn": 25e-6}
    assert _backends.best_of({**times, "tensor_core": 40e-6}) == "torch"
    assert _backends.best_of({**times, "tensor_core": 40e-6}, masked=True) == "cudnn"


def test_one_that_does_not_compute_it_is_no_candidate(two):
    two.slow, two.refuses = "cudnn", "first"
    assert two.attend() == (["library"], 0)


def test_one_that_fails_is_not_chosen(two, monkeypatch, caplog):
    original = two.original

    def broken(tensors, *, backend, **options):
        return original(tensors, **options, backend=backend)

    two.slow = None
    monkeypatch.setattr(two, "original", broken)
    monkeypatch.setattr(
        TwoBackends, "__call__",
        lambda self, tensors, *, backend, **options: (_ for _ in ()).throw(ValueError("broken"))
        if backend == 1 else original(tensors, **options, backend=0),
    )  # fmt: skip
    q = torch.randn(1, 5, 2, 8)
    with caplog.at_level(logging.WARNING, "mindiesd"):
        mindiesd.attention_forward(q, q, q)
    assert "back end first: broken" in caplog.text
    assert [e["backend"] for e in _memory.entries(CPU).values()] == ["cudnn"]


def test_nothing_is_measured_while_a_graph_is_captured(two, monkeypatch):
    two.slow = "first"
    monkeypatch.setattr(_backends, "_capturing", lambda device: True)
    q = torch.randn(1, 5, 2, 8)
    two.callers.append(q)
    for _ in range(2):
        mindiesd.attention_forward(q, q, q)
    assert two.launched == [("library", True)] * 2
    monkeypatch.setattr(_backends, "_capturing", lambda device: False)
    mindiesd.attention_forward(q, q, q)  # nor was the way of the capture kept
    assert two.launched[-1] == ("cudnn", True)
    two.launched.clear()
    _eager.forget()
    monkeypatch.setattr(_backends, "_capturing", lambda device: True)
    assert two.attend()[0] == ["cudnn"]  # what is known serves a capture


def test_problems_are_told_apart():
    """The published key omits mask, device and key heads."""
    q, mask = torch.randn(2, 5, 4, 8), torch.ones(2, 1, 5, 5, dtype=torch.bool)
    base = dict(layout=0, causal=0, window_left=-1, window_right=-1, softcap=0.0, scale=1.0)
    plain = dict(query=q, key=q, value=q, mask=None, alibi_slopes=None)
    others = [
        plain | dict(mask=mask), plain | dict(mask=mask.float()), plain | dict(mask=mask[:1]),
        plain | dict(key=q[:, :, :2], value=q[:, :, :2]), plain | dict(query=q[:, :3]),
        plain | dict(value=q[..., :4]), plain | {n: q.half() for n in ("query", "key", "value")},
        plain | dict(query=torch.randn(2, 4, 5, 8).transpose(1, 2)),
        plain | dict(query=torch.randn(2, 5, 3, 4, 8)[:, :, 1]), plain | dict(key=q[:1], value=q[:1]),
        plain | dict(alibi_slopes=torch.ones(4)), plain | dict(mask=mask.expand(2, 4, 5, 5)),
    ]  # fmt: skip
    keys = [_backends.key_of(problem, base) for problem in (plain, *others)]
    for change in (
        dict(layout=1), dict(causal=1), dict(causal=2), dict(window_left=3), dict(softcap=2.0),
    ):  # fmt: skip
        keys.append(_backends.key_of(plain, base | change))
    assert len(set(keys)) == len(keys)
    same = plain | dict(query=torch.randn(2, 5, 4, 8))
    assert _backends.key_of(same, base | dict(scale=0.5)) == keys[0]


@pytest.mark.parametrize(
    "content",
    [
        "", "{", "[]", '{"format": 1}', "\x00", '{"format": 1, "versions": {}, "entries": 3}',
        None,
    ],
)  # fmt: skip
def test_damaged_files_are_ignored_and_written_anew(two, content, caplog):
    two.attend()
    file = _memory.path(CPU)
    whole = json.loads(file.read_text())
    if content is None:
        whole["entries"] = {key: {"backend": 7} for key in whole["entries"]}
        content = json.dumps(whole)
    file.write_text(content)
    _memory.forget()
    with caplog.at_level(logging.WARNING, "mindiesd"):
        launched, measured = two.attend()
    assert measured and launched == ["cudnn"]
    assert f"{file} is ignored and will be written anew" in caplog.text
    entries = json.loads(file.read_text())["entries"]
    assert [e["backend"] for e in entries.values()] == ["cudnn"]


def test_other_versions_are_measured_again(two, caplog):
    two.attend()
    file = _memory.path(CPU)
    content = json.loads(file.read_text())
    content["versions"]["library"] = "0.0.1"
    file.write_text(json.dumps(content))
    _memory.forget()
    assert two.attend()[1]
    assert "ignored" not in caplog.text
    assert json.loads(file.read_text())["versions"]["library"] == _library.version
    assert list(file.parent.glob("*.tmp")) == []


def test_a_disk_that_cannot_be_written_costs_a_warning(two, monkeypatch, tmp_path, caplog):
    (tmp_path / "mindiesd").write_text("a file where the folder should be")
    with caplog.at_level(logging.WARNING, "mindiesd"):
        assert two.attend()[0] == ["cudnn"]
    assert "cannot be written" in caplog.text
    assert two.attend() == (["cudnn"], 0)  # in memory all the same


def test_memory_without_disk(two, monkeypatch):
    monkeypatch.setenv("MINDIESD_CACHE", "off")
    assert two.attend()[1] and not two.attend()[1]
    assert not _memory.path(CPU).exists()


WRITER = """
import sys, torch
from mindiesd import _memory
for i in range(20):
    _memory.remember(torch.device("cpu"), f"{sys.argv[1]} {i}", "first", {"first": 1.0})
    _memory._read(torch.device("cpu")) or sys.exit("a reader saw a broken file")
"""


def test_many_processes_write_one_file(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(n)], env=environment, stderr=subprocess.PIPE, text=True
        )
        for n in range(4)
    ]
    for writer in writers:
        _, errors = writer.communicate()
        assert writer.returncode == 0 and "ignored" not in errors, errors
    entries = json.loads(_memory.path(CPU).read_text())["entries"]
    assert sorted(entries) == sorted(f"{n} {i}" for n in range(4) for i in range(20))


def test_ext_takes_the_same_choices(two):
    q = torch.randn(1, 2, 5, 8)
    ext.attention_forward(q, q, q, head_first=True, opt_mode="manual", op_type="cudnn")
    assert two.launched == [("cudnn", False)]
    with pytest.raises(ParametersInvalid, match="op_type must be one of"):
        ext.attention_forward(q, q, q, head_first=True, op_type="tpu")
    with pytest.raises(ParametersInvalid, match="opt_mode must be one of"):
        ext.attention_forward(q, q, q, head_first=True, opt_mode="fast")


def test_command_tunes(two, capsys, monkeypatch):
    two.slow = "first"
    monkeypatch.setattr(command, "_devices", lambda: [CPU])  # the two back ends are the CPU's
    assert command.main(["tune", "1x5x4x8", "2x5/9x4/2x8", "--type", "fp32", "--causal"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("cpu: 1x5/5x4/4x8: cudnn ") and ", first " in lines[0]
    assert lines[1].startswith("cpu: 2x5/9x4/2x8: cudnn ")
    assert command.main(["tune", "1x5x4x8", "--type", "fp32", "--causal"]) == 0
    assert capsys.readouterr().out == "cpu: 1x5/5x4/4x8: known\n"
    assert len(json.loads(_memory.path(CPU).read_text())["entries"]) == 2


def test_command_informs(capsys, monkeypatch):
    monkeypatch.setattr(command, "_devices", lambda: [CPU])
    assert command.main(["info"]) == 0
    out = capsys.readouterr().out
    assert str(_library.library_path) in out and torch.__version__ in out
    assert "attention back ends: cpu, math" in out and str(_memory.path(CPU)) in out
    assert command.main(["tune", "1x5x4x8"]) == 0
    assert "cpu: only cpu, nothing to choose" in capsys.readouterr().out


@pytest.mark.parametrize("shape", ["", "1x2x3", "1x2x3x0", "ax2x3x4", "1x2x3x4x5", "1/2x2x3x4"])
def test_command_refuses_what_is_no_shape(shape, capsys):
    with pytest.raises(SystemExit) as stop:
        command.main(["tune", shape])
    assert stop.value.code == 2
    assert "is not BxSxNxD" in capsys.readouterr().err
