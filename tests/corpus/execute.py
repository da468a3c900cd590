"""Runs the run.py of corpus folders on given trees and saves what they give.

Arguments: a JSON file with a list of {"name", "run", "tree", "out"}. Every folder runs in a child
of its own, forked after torch is loaded, with its tree first on the module path; `out` gets the
tensors, or {"error": text}.
"""

import importlib.util
import json
import os
import sys
import traceback

import torch


def outputs(run: str, tree: str) -> list[torch.Tensor]:
    sys.path.insert(0, tree)
    torch.manual_seed(20)
    spec = importlib.util.spec_from_file_location("corpus_run", run)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with torch.no_grad():
        return [tensor.detach().clone() for tensor in module.outputs()]


def main(work: str) -> int:
    with open(work, encoding="utf-8") as file:
        jobs = json.load(file)
    sys.dont_write_bytecode = True
    failed = False
    for job in jobs:
        child = os.fork()
        if child == 0:
            try:
                result = {"outputs": outputs(job["run"], job["tree"])}
            except BaseException:  # noqa: BLE001 - whatever it is, the parent reports it
                result = {"error": traceback.format_exc()}
            torch.save(result, job["out"])
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status != 0:
            failed = True
            print(f"{job['name']}: ended with status {status}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
