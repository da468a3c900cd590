"""Runs worker.py, which builds and runs models with one diffusers package, in a process of its own.

Entry point: `run_worker`. Two packages of one name cannot live in one process.
"""

import os
import pathlib
import subprocess
import sys
from collections.abc import Iterable

from proof import migration

WORKER = pathlib.Path(__file__).with_name("worker.py")


def run_worker(
    package_dir: pathlib.Path,
    out: pathlib.Path,
    weights: pathlib.Path,
    names: Iterable[str],
    definitions: bool = False,
) -> dict:
    """Runs the models `names` with the diffusers package in package_dir; results by model name.

    weights: directory of the drawn weights. out: file for the results. The mindiesd package comes
    from MINDIESD_PYTHON_DIR, else from this tree, else from what is installed. Raises SetupError
    where the worker itself fails; a model that fails is an "error" in its result.
    """
    import torch

    runtime = pathlib.Path(
        os.environ.get("MINDIESD_PYTHON_DIR") or migration.REPOSITORY / "runtime" / "python"
    )
    command = [sys.executable, "-P", str(WORKER), "--package-dir", str(package_dir)]
    if runtime.is_dir():
        command += ["--runtime-dir", str(runtime)]
    if definitions:
        command.append("--definitions")
    command += ["--weights", str(weights), "--out", str(out), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise migration.SetupError(
            f"the worker for {package_dir} ended with {done.returncode}:\n{done.stderr[-4000:]}"
        )
    return torch.load(out)
