"""The libtorch programs of ``tests/runtime/libtorch``, built with the runtime's headers against the installed torch,
and run: ``mindiesd/torch.h``, ``mindiesd/functional.h``, and the C++ corpus before and after its migration."""

import shutil
import subprocess
from pathlib import Path

import mindiesd
import pytest
import torch
from torch.utils import cpp_extension

ROOT = Path(__file__).resolve().parents[3]
OF_THE_CORPUS = ("migrated.cpp", "modules.cpp", "control.cpp", "optional.cpp", "conditions.cpp",
                 "parts.cpp", "helpers.cpp", "options.cpp", "shapes.cpp")


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
@pytest.mark.parametrize("source", ["main.cpp", "functional.cpp", *OF_THE_CORPUS])
def test_program(tmp_path, source):
    program = tmp_path / "program"
    library = mindiesd.library_path.parent
    torch_library = Path(torch.__file__).parent / "lib"
    # The corpus has warnings of its own.
    strict = () if source in OF_THE_CORPUS else ("-Wall", "-Wextra", "-Werror")
    build = subprocess.run(
        [
            "c++", "-std=c++20", "-O0", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
            *(f"-isystem{path}" for path in cpp_extension.include_paths()), *strict,
            f"-I{ROOT / 'runtime' / 'include'}", f"-I{ROOT / 'corpus'}", f"-I{ROOT / 'corpus' / 'cpp_libtorch'}",
            ROOT / "tests" / "runtime" / "libtorch" / source, "-o", program,
            f"-L{library}", f"-L{torch_library}", "-lmindiesd", "-ltorch", "-ltorch_cpu", "-lc10",
            f"-Wl,-rpath,{library}", f"-Wl,-rpath,{torch_library}",
        ],
        capture_output=True, text=True,
    )  # fmt: skip
    assert build.returncode == 0, build.stderr
    run = subprocess.run([program], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "all as expected\n"), run.stdout + run.stderr
