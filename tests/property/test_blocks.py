"""Fused blocks (residual sums and their norms, norms in float32, linear layers with gelu, GroupNorm with SiLU) give what
they gave: beside writes and other readers between their parts, and with operands that lie in any order."""

import importlib.util
import itertools
import json
import pathlib
import sys

import pytest

pytest.importorskip("torch", reason="torch is not installed; ./dev test installs it")
import torch  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "corpus"))

from cases import run_refit  # noqa: E402

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn


class Layer(nn.Module):
    order = None

    def forward(self, x):
        z = torch.sin(x)
        return z if self.order is None else z.permute(self.order).contiguous().permute(self.order)


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.ff, self.flag, self.n = Layer(), True, 0

    def count(self):
        self.n += 1
        return self.n
"""
CLASS = """

class {name}(Base):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)
        self.gn = nn.GroupNorm(1, 5)

    def forward(self, x, gate):
        {body}
"""
SUM = "y = self.ff(x); s = x + gate * y; "
PARTS = {
    "Plain": SUM + "h = self.norm(s); return s, h",
    "Alone": "y = self.ff(x); return x + gate * y",
    "Commuted": "y = self.ff(x); s = gate * y + x; h = self.norm(s); return s, h",
    "CommutedAlone": "y = self.ff(x); return gate * y + x",
    "NoGate": "y = self.ff(x); s = y + x; h = self.norm(s); return s, h",
    "SumWritten": SUM + "s.mul_(2); h = self.norm(s); return s, h",
    "SumAdded": SUM + "s += 1; h = self.norm(s); return s, h",
    "SumsViewWritten": SUM + "v = s[:, 0]; v.zero_(); h = self.norm(s); return s, h",
    "GateWritten": SUM + "gate.zero_(); h = self.norm(s); return s, h",
    "BranchWritten": SUM + "y.zero_(); h = self.norm(s); return s, h, y",
    "FirstWritten": SUM + "x.zero_(); h = self.norm(s); return s, h",
    "WeightWritten": SUM + "self.norm.weight.data.mul_(3); h = self.norm(s); return s, h",
    "EpsWritten": SUM + "self.norm.eps = 10.0; h = self.norm(s); self.norm.eps = 1e-5; return s, h",
    "ReadBetween": SUM + "t = s * 2; h = self.norm(s); return s, h, t",
    "TwoNorms": SUM + "h = self.norm(s); k = self.norm(s); return s, h, k",
    "Effects": "s = x + gate * self.ff(x); h = self.norm(s) * (1 + self.count()) + self.count(); return s, h",
    "LinearsWeightWritten": "w = self.lin(x); self.lin.weight.data.mul_(2); return F.gelu(w, approximate='tanh')",
    "LinearReadTwice": "w = self.lin(x); return F.gelu(w, approximate='tanh'), w",
    "LinearsOperandWritten": "w = self.lin(x); x.zero_(); return F.gelu(w, approximate='tanh')",
    "CastsOperandWritten": "h = self.norm(x.float()); x.zero_(); return (h * (1 + gate) + gate).type_as(x)",
    "Casts": "return (self.norm(x.float()) * (1 + gate) + gate).type_as(x)",
    "GroupsOperandWritten": "h = self.gn(x); x.zero_(); return F.silu(h)",
    "GroupsWeightWritten": "h = self.gn(x); self.gn.weight.data.mul_(5); return F.silu(h)",
    "GroupReadTwice": "h = self.gn(x); return F.silu(h), h",
    "Groups": "return F.silu(self.gn(x))",
    "Linears": "return F.gelu(self.lin(x), approximate='tanh')",
}  # fmt: skip
REWRITTEN = {"Plain", "Alone", "NoGate", "Casts", "Groups", "Linears"}
ORDERS = (None, (0, 2, 1), (1, 0, 2), (2, 1, 0))  # each its own inverse
GATES = ((2, 1, 8), (8,), (2, 5, 8), (2, 5, 1))
RULES = {"residual-norm", "residual-gate", "norm-in-float32", "linear-gelu", "group-norm-silu"}


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """The module before and after, and the classes in which a block was fused."""
    root = tmp_path_factory.mktemp("blocks")
    text = HEAD + "".join(
        CLASS.format(name=name, body=body.replace("; ", "\n        ")) for name, body in PARTS.items()
    )
    for side in ("before", "after"):
        (root / side).mkdir()
        (root / side / "blocks.py").write_text(text)
    report = root / "report.json"
    done = run_refit("migrate", root / "after", "--write", "--report", f"json:{report}")
    assert done.returncode == 0, done.stderr.decode()
    loaded = []
    for side in ("before", "after"):
        spec = importlib.util.spec_from_file_location(f"blocks_{side}", root / side / "blocks.py")
        loaded.append(importlib.util.module_from_spec(spec))
        spec.loader.exec_module(loaded[-1])
    sites = json.loads(report.read_text())["sites"]
    fused = {s["function"].split(".")[-2] for s in sites if s["outcome"] == "rewritten" and s["rule"] in RULES}
    return *loaded, fused


def test_what_stands_alone_is_fused(modules):
    assert modules[2] >= REWRITTEN


@pytest.mark.parametrize("name", PARTS)
def test_values_and_strides(modules, name):
    for first, branch, gate_shape in itertools.product(ORDERS, ORDERS, GATES):
        if gate_shape != GATES[0] and "gate" not in PARTS[name]:
            continue
        results = []
        for module in modules[:2]:
            torch.manual_seed(0)
            block = getattr(module, name)().eval()
            block.ff.order = branch
            x, gate = torch.randn(2, 5, 8), torch.randn(gate_shape)
            if first:
                x = x.permute(first).contiguous().permute(first)
            with torch.no_grad():
                given = block(x, gate)
            results.append((*(given if isinstance(given, tuple) else (given,)), x, gate, *block.parameters()))
        for wanted, found in zip(*results, strict=True):
            torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
            assert found.stride() == wanted.stride(), (first, branch, gate_shape)
