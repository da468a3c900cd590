"""Random programs around attention, printed in C++, give what they gave before.

REFIT_CPP_PROGRAMS says how many are drawn (40; they are compiled 200 at a time), REFIT_SEED from which seed (1).
"""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="torch is not installed; ./dev test installs it")
import torch  # noqa: E402
from torch.utils import cpp_extension  # noqa: E402

mindiesd = pytest.importorskip("mindiesd", reason="the runtime is not built")

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "corpus")]

from cases import run_refit  # noqa: E402
from cpp_printer import FOOT, HEAD, printed  # noqa: E402
from programs import program  # noqa: E402

PROGRAMS = int(os.environ.get("REFIT_CPP_PROGRAMS", "40"))
SEED = int(os.environ.get("REFIT_SEED", "1"))
BATCH = 200
MAIN = r"""
#define programs before
#include "before/programs.h"
#undef programs
#define programs after
#include "after/programs.h"
#undef programs

#include <cstdio>

namespace {

int g_compared = 0;

using Program = std::vector<torch::Tensor> (*)(torch::Tensor, torch::Tensor, torch::Tensor, int64_t, torch::Tensor,
                                               torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor, bool);

// What a program gives and what it makes of its operands.
std::vector<torch::Tensor> results(Program program, bool flag) {
  torch::manual_seed(1);
  std::vector<torch::Tensor> qkv;
  for (int i = 0; i < 3; ++i) qkv.push_back(torch::randn({2, 6, 32}));
  auto out = program(qkv[0], qkv[1], qkv[2], 2, torch::randn({8}), torch::randn({6}), torch::randn({4}),
                     torch::randn({2, 1, 6, 8}), torch::randn({4, 6, 8}), flag);
  out.insert(out.end(), qkv.begin(), qkv.end());
  return out;
}

bool differ(const torch::Tensor& old, const torch::Tensor& now) {
  if (old.sizes() != now.sizes() || old.scalar_type() != now.scalar_type()) return true;
  if (old.numel() == 0) return false;
  const auto wanted = old.to(torch::kDouble);
  const double largest = wanted.nan_to_num().abs().max().item<double>();
  return !torch::allclose(wanted, now.to(torch::kDouble), 0, 3e-5 * std::max(1.0, largest), /*equal_nan=*/true);
}

void compare(const char* name, Program before, Program after) {
  for (const bool flag : {true, false}) {
    std::vector<torch::Tensor> old;
    try {
      old = results(before, flag);
    } catch (const std::exception&) {
      continue;  // drawn to run with the flag set
    }
    ++g_compared;
    try {
      const auto now = results(after, flag);
      bool same = now.size() == old.size();
      for (size_t i = 0; same && i < old.size(); ++i) same = !differ(old[i], now[i]);
      if (!same) std::printf("%s gives something else\n", name);
    } catch (const std::exception& error) {
      std::printf("%s now raises: %.200s\n", name, error.what());
    }
  }
}

}  // namespace

int main() {
  torch::NoGradGuard no_gradients;
"""


def compiled(source: pathlib.Path) -> pathlib.Path:
    library, torch_library = mindiesd.library_path.parent, pathlib.Path(torch.__file__).parent / "lib"
    program = source.with_suffix("")
    command = [
        "c++", "-std=c++20", "-O0", "-w", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
        *(f"-isystem{path}" for path in cpp_extension.include_paths()),
        f"-I{HERE.parents[1] / 'runtime' / 'include'}", source, "-o", program,
        f"-L{library}", f"-L{torch_library}", "-lmindiesd", "-ltorch", "-ltorch_cpu", "-lc10",
        f"-Wl,-rpath,{library}", f"-Wl,-rpath,{torch_library}",
    ]  # fmt: skip
    build = subprocess.run(command, capture_output=True, text=True)
    assert build.returncode == 0, build.stderr[-4000:]
    return program


def drawn(draw: random.Random, count: int) -> dict[str, str]:
    texts = {}
    while len(texts) < count:
        name = f"program_{len(texts)}"
        text = printed(draw, program(draw, name))
        if text is not None:
            texts[name] = text
    return texts


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_programs_agree(tmp_path):
    draw = random.Random(SEED)
    wrong, compared, outcomes = [], 0, []
    for first in range(0, PROGRAMS, BATCH):
        root = tmp_path / str(first)
        texts = drawn(draw, min(BATCH, PROGRAMS - first))
        for side in ("before", "after"):
            (root / side).mkdir(parents=True)
            (root / side / "programs.h").write_text(HEAD + "\n".join(texts.values()) + FOOT)
        report = root / "report.json"
        done = run_refit("migrate", root / "after", "--write", "--quiet", "--report", f"json:{report}")
        assert done.returncode == 0, done.stderr.decode()
        outcomes += [(site["outcome"], site["rule"]) for site in json.loads(report.read_text())["sites"]]
        calls = "".join(f'  compare("{name}", before::{name}, after::{name});\n' for name in texts)
        (root / "main.cpp").write_text(MAIN + calls + '  std::printf("%d compared\\n", g_compared);\n}\n')
        run = subprocess.run([compiled(root / "main.cpp")], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        *lines, last = run.stdout.splitlines()
        compared += int(last.split()[0])
        wrong += [line + "\n" + texts[line.split()[0]] for line in lines]
    assert not wrong, "\n".join(wrong)
    assert compared >= PROGRAMS
    # They are worth comparing: attention of both forms is rewritten, and some by hand is left.
    for outcome, rule, one_in in [("rewritten", "sdpa-to-attention-forward", 20), ("rewritten", "attention-by-hand", 20),
                                  ("refused", "attention-by-hand", 40)]:  # fmt: skip
        assert outcomes.count((outcome, rule)) >= PROGRAMS // one_in, outcomes
