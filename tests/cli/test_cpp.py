"""The front end for C++ in the tool."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

SOURCE = b"""#include <torch/torch.h>

torch::Tensor attend(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  return torch::scaled_dot_product_attention(q, k, v);
}
"""


def test_a_site_in_cpp_is_rewritten(refit, tree):
    (tree / "model.cpp").write_bytes(SOURCE)
    done = refit("migrate", "--write", tree)
    assert done.code == 0, done.err
    after = (tree / "model.cpp").read_bytes()
    assert b"mindiesd::ext::attention_forward(q, k, v" in after
    assert b"#include <mindiesd/functional.h>" in after


HELPER = """#pragma once
#include <torch/torch.h>
inline torch::Tensor opposite(const torch::Tensor& x) { return -x; }
"""
ROTATION = """#include <torch/torch.h>
#include HEADER

torch::Tensor rotate(torch::Tensor q, torch::Tensor cos, torch::Tensor sin) {
  auto halves = q.chunk(2, -1);
  return q * cos + torch::cat({opposite(halves[1]), halves[0]}, -1) * sin;
}
"""


@pytest.mark.parametrize("header", ['"opposite.h"', "<torch/opposite.h>"])
def test_bodies_are_read_in_the_projects_headers_and_not_in_libtorchs(refit, tree, header):
    """With the flags of a compile_commands.json, where libtorch's headers are the real ones."""
    include = tree.parent / "libtorch"
    declared = Path(__file__).resolve().parents[2] / "rules" / "catalogue" / "cpp" / "include"
    shutil.copytree(declared, include)
    (include / "torch" / "opposite.h").write_text(HELPER)
    (tree / "opposite.h").write_text(HELPER)
    (tree / "model.cpp").write_text(ROTATION.replace("HEADER", header))
    command = f"c++ -std=c++20 -nostdinc -nostdinc++ -isystem {include} -c model.cpp -o model.o"
    entry = {"directory": str(tree), "file": "model.cpp", "command": command}
    (tree / "compile_commands.json").write_text(json.dumps([entry]))
    done = refit("migrate", tree)
    assert done.code == 0, done.err
    assert (b"mindiesd::ext::rotary_position_embedding(" in done.out) == (header == '"opposite.h"')


SITE = SOURCE.decode()


def compiled_with(tree, *flags, folder=None):
    """A tree of one file and the command of a stranger's build."""
    include = tree.parent / "libtorch"
    declared = Path(__file__).resolve().parents[2] / "rules" / "catalogue" / "cpp" / "include"
    shutil.copytree(declared, include, dirs_exist_ok=True)
    (include / "ATen").mkdir(exist_ok=True)
    arguments = ["c++", "-nostdinc", "-nostdinc++", "-isystem", str(include), *flags, "-c", "model.cpp"]
    entry = {"directory": str(folder or tree), "file": "model.cpp", "arguments": arguments}
    (tree / "compile_commands.json").write_text(json.dumps([entry]))
    (tree / "model.cpp").write_text(SITE)


WRITING = {
    "dependency-file": ("-Xclang", "-dependency-file", "-Xclang", "{out}", "-Xclang", "-MT", "-Xclang", "x"),
    "preprocessor": ("-Wp,-MD,{out}",),
    "make": ("-MD", "-MF", "{out}"),
    "database": ("-MJ", "{out}"),
    "diagnostics": ("--serialize-diagnostics", "{out}"),
    "output": ("-o", "{out}"),
    "trace": ("-ftime-trace={out}",),
    "time": ("-ftime-report", "-fproc-stat-report={out}"),
    "temporaries": ("-save-temps=obj", "-o", "{out}"),
    "llvm": ("-mllvm", "-info-output-file={out}", "-mllvm", "-stats"),
    "modules": ("-fmodules", "-fmodules-cache-path={out}"),
    "plugin": ("-fplugin={out}", "-Xclang", "-load", "-Xclang", "{out}"),
    "crash": ("-gen-reproducer=always", "-fcrash-diagnostics-dir={out}"),
    "tools": ("-no-integrated-cpp", "-B{out}", "-fuse-ld={out}"),
    "header dump": ("-Xclang", "-header-include-file", "-Xclang", "{out}", "-H"),
    "configuration": ("--config={out}",),
}


@pytest.mark.parametrize("flags", WRITING.values(), ids=WRITING)
def test_flags_that_write_files_do_not_pass(refit, tree, flags):
    out = tree.parent / "written"
    compiled_with(tree, *(flag.format(out=out) for flag in flags))
    before = sorted(path for path in tree.parent.rglob("*"))
    done = refit("migrate", tree)
    assert done.code == 0, done.err
    assert b"mindiesd::ext::attention_forward(q, k, v" in done.out
    assert sorted(path for path in tree.parent.rglob("*")) == before


def test_flags_that_say_how_a_file_reads_pass(refit, tree):
    """Names, folders and forced headers decide whether the call is there, and which tensors it has."""
    (tree / "given").mkdir()
    (tree / "given" / "forced.h").write_text("#define ATTEND torch::scaled_dot_product_attention\n")
    (tree / "given" / "quoted.h").write_text("#define SCALE 2.0\n")
    flags = ["-std=c++17", "-DUSE_TORCH", "-UUSE_OTHER", "-include", "given/forced.h", "-iquote", "given"]
    compiled_with(tree, *flags, "-march=x86-64", "-mavx2", "-pthread", "-fno-exceptions", "-fopenmp")
    text = SITE.replace("torch/torch.h>", 'torch/torch.h>\n#include "quoted.h"')
    conditions = "#if !defined(USE_TORCH) || !defined(ATTEND) || !defined(SCALE) || !defined(__AVX2__)\n"
    (tree / "model.cpp").write_text(f"{text}{conditions}#error not as it is compiled\n#endif\n")
    done = refit("migrate", tree)
    assert done.code == 0, done.err
    assert b"mindiesd::ext::attention_forward(q, k, v" in done.out
    (tree / "model.cpp").write_text(f"{text}\n}}\n")
    assert "model.cpp" in refit("migrate", tree).err


@pytest.mark.parametrize("where", ("include", "flag", "device", "response", "database", "search"))
def test_no_file_that_is_none_is_opened(refit, tree, where):
    """A pipe that nobody writes, or a device, would never end."""
    pipe = tree / "pipe.h"
    os.mkfifo(pipe)
    flags = {
        "flag": ("-include", str(pipe)), "device": ("-include", "/dev/zero"), "response": (f"@{pipe}",),
        "search": ("-I", str(pipe)),
    }  # fmt: skip
    compiled_with(tree, *flags.get(where, ()))
    if where == "include":
        (tree / "model.cpp").write_text('#include "pipe.h"\n#include "/dev/zero"\n#include "/proc/kmsg"\n' + SITE)
    if where == "database":
        (tree / "compile_commands.json").unlink()
        os.mkfifo(tree / "compile_commands.json")
    done = refit("migrate", tree)
    assert done.code == 0, done.err
    assert b"mindiesd::ext::attention_forward(q, k, v" in done.out


CRASHING = {
    "crash": "#pragma clang __debug crash\n",
    "fatal": "#pragma clang __debug llvm_fatal_error\n",
    "assert": "#pragma clang __debug assert\n",
    "unreachable": "#pragma clang __debug llvm_unreachable\n",
    "parser": "#pragma clang __debug parser_crash\n",
    "overflow": "#pragma clang __debug overflow_stack\n",
    "explosion": "".join(f"#define M{i + 1} " + f"M{i} " * 64 + "\n" for i in range(8)) + "#define M0 int;\nM8\n",
}


@pytest.mark.parametrize("text", CRASHING.values(), ids=CRASHING)
def test_one_files_text_ends_no_run(refit, tree, text):
    (tree / "bad.cpp").write_text(text + SITE)
    (tree / "good.cpp").write_text(SITE)
    done = refit("migrate", tree)
    assert b"b/good.cpp" in done.out, done.err
    if b"b/bad.cpp" not in done.out:
        assert "bad.cpp" in done.err


ROOT = Path(__file__).resolve().parents[2]
HEADERS = sorted((ROOT / "runtime" / "include" / "mindiesd" / "functional").glob("*.h"))
DECLARATIONS = ROOT / "rules" / "catalogue" / "cpp" / "include" / "mindiesd" / "functional.h"


def declared(*paths):
    """The public functions of headers with their parameters, and their structs with their fields in order."""
    functions, structs = {}, {}
    for path in paths:
        text = re.sub(r"//.*", "", path.read_text())
        text = re.sub(r"namespace functional_internal \{.*?\}  ?\n", "", text, flags=re.S)
        parts = re.split(r"^namespace ([\w:]+) \{$", text, flags=re.M)
        for opened, body in zip(parts[1::2], parts[2::2], strict=True):
            space = "mindiesd" if opened == "mindiesd" else "mindiesd.ext"
            for name, parameters in re.findall(r"^(?:inline )?at::Tensor (\w+)\(([^;]*?)\)(?:;| \{$)", body, re.M):
                functions[f"{space}.{name}"] = re.sub(r"\s+", " ", parameters)
            for name, fields in re.findall(r"^struct (\w+) \{(.*?)^\};", body, re.S | re.M):
                structs[f"{space}.{name}"] = re.sub(r"\s+", " ", fields).strip()
    return functions, structs


def test_what_is_known_of_the_runtime_is_what_its_headers_declare():
    functions, structs = declared(*HEADERS)
    assert (functions, structs) == declared(DECLARATIONS)
    included = (HEADERS[0].parents[1] / "functional.h").read_text()
    assert all(f'"mindiesd/functional/{h.name}"' in included for h in HEADERS if h.name != "internal.h")
    assert len(structs) == len(functions) >= 10
    table = (ROOT / "rules" / "catalogue" / "cpp" / "names.yaml").read_text()
    known = dict(re.findall(r"^  (\S+): \[(.*)\]$", table[table.index("declared:") :], re.M))
    assert sorted(known) == sorted(functions)
    page = (ROOT / "docs" / "runtime.md").read_text()
    for name, parameters in functions.items():
        options = re.search(r"const (\w+)& arguments = \{\}$", parameters)[1]
        fields = re.findall(r"(\w+) = ", structs[f"{name.rpartition('.')[0]}.{options}"])
        assert known[name].split(", ") == fields, name
        required = ", ".join(re.findall(r"(\w+), ", parameters))
        options = ", ".join(f"`{field}`" for field in fields)
        assert f"| `{name.replace('.', '::')}` | `{required}` | {options} |\n" in page, name


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("torch::gelu(x)", "mindiesd::ext::gelu(x)"),
        ('torch::gelu(x, "tanh")', 'mindiesd::ext::gelu(x, {.approximate = "tanh"})'),
        ("torch::silu(x)", "mindiesd::ext::silu(x)"),
        ("x * torch::sigmoid(1.702 * x)", 'mindiesd::ext::gelu(x, {.approximate = "fast"})'),
        ("torch::silu(x) * y", 'mindiesd::ext::gated(y, x, "silu", {.strides = "gate"})'),
        (
            "x + gate.unsqueeze(1) * norm.forward(y)",
            "mindiesd::ext::residual(x, norm.forward(y), {.gate = gate.unsqueeze(1)})",
        ),
    ],
)
def test_activations_and_sums(refit, tree, before, after):
    (tree / "model.cpp").write_text(
        "#include <torch/torch.h>\n\n"
        "struct LayerNormOfMine {\n  torch::Tensor forward(torch::Tensor x);\n};\n"
        "torch::Tensor f(torch::Tensor x, torch::Tensor y, torch::Tensor gate, LayerNormOfMine& norm) {\n"
        f"  return {before};\n}}\n"
    )
    done = refit("migrate", "--write", tree)
    assert done.code == 0, done.err
    assert after in (tree / "model.cpp").read_text(), done.out + done.err.encode()


def test_a_text_that_does_not_compile_is_withheld(refit, tree, tmp_path):
    """The runtime's declarations lack the call's field, as an older header would."""
    rules = shutil.copytree(ROOT / "rules", tmp_path / "rules")
    header = rules / "catalogue" / "cpp" / "include" / "mindiesd" / "functional.h"
    header.write_text(header.read_text().replace("bool head_first = false;", ""))
    (tree / "model.cpp").write_text(SITE)
    before = (tree / "model.cpp").read_bytes()
    done = refit("migrate", "--write", tree, env={**os.environ, "REFIT_RULES_DIR": str(rules)})
    assert "does not compile" in done.err + done.out.decode()
    assert (tree / "model.cpp").read_bytes() == before


CONDITIONAL = """#include <torch/torch.h>

torch::Tensor act(torch::Tensor x) {
#if defined(USE_CUDA) && LEVEL > 1
  return torch::gelu(x);
#else
  return torch::silu(x);
#endif
}
"""


@pytest.mark.parametrize("configured", [False, True])
def test_a_name_that_the_build_defines_is_given_by_hand_or_by_the_project(refit, tree, configured):
    (tree / "model.cpp").write_text(CONDITIONAL)
    done = refit("migrate", tree)
    assert b"+  return mindiesd::ext::silu(x);" in done.out
    assert "inactive-code: it is compiled under `defined(USE_CUDA) && LEVEL > 1` alone" in done.err
    given = ("--define", "USE_CUDA", "--define=LEVEL=2")
    if configured:
        (tree / "refit.toml").write_text('define = ["USE_CUDA", "LEVEL=2"]\n')
        given = ()
    done = refit("migrate", *given, tree)
    assert b"+  return mindiesd::ext::gelu(x);" in done.out
    assert "model.cpp:7:10: refused [silu-function] inactive-code" in done.err
    assert b"rewritten [gelu-function]" in refit("explain", *given, tree / "model.cpp:5").out


@pytest.mark.parametrize("name", ["", "=1", "1X", "A B", "A=1\nint x;", "-DX"])
def test_what_is_no_name_of_the_preprocessor_is_a_usage_error(refit, tree, name):
    (tree / "model.cpp").write_text(CONDITIONAL)
    done = refit("migrate", f"--define={name}", tree)
    assert (done.code, "--define: expected NAME or NAME=VALUE" in done.err) == (2, True), done.err
    (tree / "refit.toml").write_text(f"define = [{json.dumps(name)}]\n")
    done = refit("migrate", tree)
    assert (done.code, "`define` must be a list of names" in done.err) == (2, True), done.err


def test_branches_without_end_are_read_so_often_and_no_more(refit, tree):
    """The conditions of a stranger's file cannot ask for any number of readings."""
    branches = "".join(f"#elif N == {n}\n  return torch::gelu(x);\n" for n in range(1, 40))
    deep = "".join(f"#if N == {n}\n" for n in range(3000))
    ends = "#endif\n" * 3000
    (tree / "model.cpp").write_text(
        "#include <torch/torch.h>\ntorch::Tensor act(torch::Tensor x) {\n#if N == 99\n"
        f"  return torch::gelu(x);\n{branches}#endif\n{deep}{ends}  return torch::silu(x);\n}}\n"
    )
    done = refit("migrate", tree)
    assert done.code == 0, done.err
    assert "bound: inactive_readings was reached 1 times, first in model.cpp:1" in done.err
    assert done.err.count("inactive-code: it is compiled") == 8
    assert b"+  return mindiesd::ext::silu(x);" in done.out


ATTENTION = "torch::matmul(torch::softmax(torch::matmul(q, k.transpose(-2, -1)) * s, -1), v)"
KEPT = f"""#include <torch/torch.h>
#include <tuple>
using T = torch::Tensor;
struct Constructed {{ double& r; Constructed(double& s) : r(s) {{}} void go() {{ r = 3; }} }};
struct Aggregate {{ double& r; }};
static void change(double& x) {{ x = 2; }}
T a(T q, T k, T v) {{ double s = 0.5; Constructed r(s); r.go(); return {ATTENTION}; }}
T b(T q, T k, T v) {{ double s = 0.5; Aggregate r{{s}}; r.r = 4; return {ATTENTION}; }}
T c(T q, T k, T v, bool f) {{ double s = 0.5, t = 1; (f ? s : t) = 3; return {ATTENTION}; }}
T d(T q, T k, T v, bool f) {{ double s = 0.5, t = 1; double& r = f ? s : t; r = 3; return {ATTENTION}; }}
T e(T q, T k, T v, bool f) {{ double s = 0.5, t = 1; change(f ? s : t); return {ATTENTION}; }}
T g(T q, T k, T v, bool f) {{ double s = 0.5, t = 1; (t = 2, s) = 3; return {ATTENTION}; }}
"""
TURNED = """#include <torch/torch.h>
#include <tuple>
using T = torch::Tensor;
static T scaled(const T& q, const T& k, int s) { return torch::matmul(q, k.transpose(-2, -1)) * s; }
T whole(T q, T k, T v) { return torch::matmul(torch::softmax(scaled(q, k, 0.5), -1), v); }
T kept(T x, T cos, T sin) {
  auto h = x.chunk(2, -1);
  T a = h[0], b = h[1];
  std::tuple<T&, T&> p(a, b);
  std::get<0>(p) = a * 2;
  return x * cos + torch::cat({-b, a}, -1) * sin;
}
"""


def test_a_variable_that_an_object_or_a_choice_may_change_is_read_where_the_call_stands(refit, tree):
    (tree / "model.cpp").write_text(KEPT)
    done = refit("migrate", tree)
    assert done.out.count(b".scale = s,") == 6 and b".scale = 0.5" not in done.out, done.out


def test_what_a_conversion_or_a_tuple_of_references_changes_is_left(refit, tree):
    (tree / "model.cpp").write_text(TURNED)
    done = refit("migrate", tree)
    assert b"mindiesd::ext" not in done.out, done.out
