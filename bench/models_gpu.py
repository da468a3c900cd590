"""Whole models of diffusers as they are and as refit migrates them, eager and compiled, in one table.

    python3 bench/models_gpu.py [--original DIR] [--migrated DIR] [--only REGEX] [--at-once N] [--small]

DIR holds a package `diffusers`; the original is otherwise the installed one, and the migrated one is
otherwise made from it by `./dev migrate --write` in a scratch folder. Two processes, one for each,
build the same model with the same random bfloat16 weights, run it once and compile it; then the four
variants take turns, --rounds times. A time is the median over rounds of the wall time of a forward,
launches by Python included. The error is the root mean square of the difference to the original model
in float32 with the same weights and inputs, as a part of the root mean square of that result.
--at-once builds and compiles so many models at the same time; they are measured one after the other.
Before that each migrated model runs once alone, in which the runtime chooses its back ends of attention.
"""

import argparse
import copy
import importlib.util
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VARIANTS = ("original", "original, compiled", "migrated", "migrated, compiled")


def randomise(model):
    """The same weights whichever package built the model: by the order of their names."""
    import torch

    generator = torch.Generator("cpu").manual_seed(0)
    for name, weight in sorted(model.named_parameters()):
        noise = torch.randn(min(weight.numel(), 1 << 20), generator=generator)
        noise = noise.to(weight.device).repeat(-(-weight.numel() // noise.numel()))
        noise = noise[: weight.numel()].view(weight.shape)
        norm = weight.dim() == 1 and name.endswith("weight")
        fan = weight[0].numel() if weight.dim() > 1 else 2500
        weight.data.copy_(1 + 0.1 * noise if norm else noise * fan**-0.5)


def narrow(model):
    """bfloat16 but for what from_pretrained keeps in float32 (Wan: modulators, norms)."""
    import torch

    wide = set(getattr(model, "_keep_in_fp32_modules", None) or ())
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if tensor.is_floating_point() and not wide & set(name.split(".")):
            tensor.data = tensor.data.to(torch.bfloat16)


class Variants:
    """One package's model in a process of its own: eager and compiled."""

    def __init__(self, case, small, device):
        import torch
        from model_cases import CASES, Inputs

        self.torch, self.device = torch, device
        build, inputs = CASES[case](small)
        with torch.device(device):
            self.model = build()
        randomise(self.model)
        narrow(self.model.eval().requires_grad_(False))
        self.values = inputs(Inputs(device, torch.bfloat16))
        self.compiled = torch.compile(copy.deepcopy(self.model))

    def run(self, compiled):
        with self.torch.no_grad():
            result = (self.compiled if compiled else self.model)(**self.values)
        return result[0] if isinstance(result, tuple) else result

    def wait(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def prepare(self, reference):
        torch = self.torch
        if reference:
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
            wide = copy.deepcopy(self.model).float()
            values = torch.utils._pytree.tree_map(
                lambda v: v.float() if isinstance(v, torch.Tensor) and v.is_floating_point() else v,
                self.values,
            )
            with torch.no_grad():
                result = wide(**values)
            torch.save(result[0] if isinstance(result, tuple) else result, reference)
            torch.backends.cudnn.allow_tf32 = True
        for compiled in (False, True, True):
            self.run(compiled)
        self.wait()

    def tune(self):
        self.run(compiled=False)
        self.wait()

    def error(self, reference):
        expected = self.torch.load(reference, map_location=self.device).double()
        size = expected.square().mean().sqrt()
        return [
            float((self.run(compiled).double() - expected).square().mean().sqrt() / size)
            for compiled in (False, True)
        ]

    def time(self, compiled, forwards):
        """Milliseconds of a forward. The first is not counted: the other process had the device."""
        self.run(compiled)
        self.wait()
        begin = time.perf_counter()
        for _ in range(forwards):
            self.run(compiled)
        self.wait()
        return (time.perf_counter() - begin) / forwards * 1e3


def work(arguments):
    """The other end of Worker: a line of JSON in, a line of JSON out."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    variants = Variants(*arguments)
    for line in sys.stdin:
        name, *rest = json.loads(line)
        print(json.dumps(getattr(variants, name)(*rest)), file=answers, flush=True)


class Worker:
    def __init__(self, package, case, small, device):
        paths = [package, ROOT / "bench", ROOT / "runtime" / "python"]
        given = os.environ.get("PYTHONPATH")
        env = dict(os.environ, PYTHONPATH=os.pathsep.join([*map(str, paths), *filter(None, [given])]))
        self.log = tempfile.TemporaryFile("w+")
        command = [sys.executable, __file__, "--worker", json.dumps([case, small, device])]
        self.process = subprocess.Popen(
            command, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log
        )

    def tell(self, *message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            raise RuntimeError(f"a model's process ended:\n{self.log.read()[-2000:]}")
        return json.loads(line)

    def ask(self, *message):
        self.tell(*message)
        return self.answer()

    def end(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()


def migrated_package(original, scratch):
    """A folder with the package `diffusers` as refit migrates it."""
    target = Path(scratch) / "migrated" / "diffusers"
    shutil.copytree(original / "diffusers", target, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([ROOT / "dev", "migrate", target, "--write"], check=True, stdout=subprocess.DEVNULL)
    return target.parent


def installed():
    spec = importlib.util.find_spec("diffusers")
    if spec is None:
        raise SystemExit("diffusers is not installed: install diffusers==0.42.1 or name its folder by --original.")
    return Path(spec.origin).parents[1]


def tune(case, package, options, device):
    """Runs the migrated model once, alone on the device: the runtime measures which back end of attention
    is fastest, and remembers it in its file for the processes that follow."""
    worker = Worker(package, case, options.small, device)
    try:
        worker.ask("tune")
    except (RuntimeError, OSError):
        pass  # the workers that follow say why
    worker.end()


def start(case, packages, options, device, scratch):
    """Two workers that prepare themselves."""
    reference = str(Path(scratch) / (re.sub(r"\W+", "-", case) + ".pt"))
    workers = [Worker(package, case, options.small, device) for package in packages]
    for worker, place in zip(workers, (reference, None), strict=True):
        try:
            worker.tell("prepare", place)
        except BrokenPipeError:
            pass  # answer() says why it ended
    return workers, reference


def prepared(case, workers):
    """Whether the model's processes have built and compiled it; why not is said."""
    try:
        for worker in workers:
            worker.answer()
    except RuntimeError as error:
        print(f"{case}: {error}", file=sys.stderr, flush=True)
        return False
    return True


def measure(workers, reference, rounds):
    """Medians in milliseconds and errors, of VARIANTS."""
    errors = [error for worker in workers for error in worker.ask("error", reference)]
    forwards = [max(1, round(60 / worker.ask("time", False, 1))) for worker in workers]
    turns = [(worker, compiled, n) for worker, n in zip(workers, forwards, strict=True) for compiled in (False, True)]
    times = [[] for _ in turns]
    for _ in range(rounds):
        for of, (worker, compiled, n) in zip(times, turns, strict=True):
            of.append(worker.ask("time", compiled, n))
    return [statistics.median(of) for of in times], errors


def row(case, times, errors):
    cells = [f"{value:.3g}" if value < 100 else f"{value:.0f}" for value in times]
    cells += [f"{times[0] / times[2]:.2f}", f"{times[1] / times[3]:.2f}"]
    cells += [f"{100 * error:.2f}" for error in errors]
    return f"| {case} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--original", type=Path)
    parser.add_argument("--migrated", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--small", action="store_true", help="tiny widths, on the CPU where there is no GPU")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(json.loads(options.worker))
    import torch
    from model_cases import CASES

    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and not options.small:
        raise SystemExit("models_gpu.py needs a CUDA device, and torch sees none here; --small runs on the CPU.")
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    print(f"{name}, torch {torch.__version__}; ms of a forward, bfloat16; errors in % of the result\n")
    print("| model | " + " | ".join(VARIANTS) + " | faster | faster, compiled | "
          + " | ".join("error, " + variant for variant in VARIANTS) + " |")  # fmt: skip
    print("|---|" + "---:|" * 10, flush=True)
    cases = [case for case in CASES if re.search(options.only, case)]
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        original = options.original or installed()
        packages = original, options.migrated or migrated_package(original, scratch)
        for first in range(0, len(cases), options.at_once):
            some = cases[first : first + options.at_once]
            for case in some:
                tune(case, packages[1], options, device)
            begun = [start(case, packages, options, device, scratch) for case in some]
            ready = [prepared(case, workers) for case, (workers, _) in zip(some, begun, strict=True)]
            failed += ready.count(False)
            for case, (workers, reference), built in zip(some, begun, ready, strict=True):
                try:
                    if built:
                        print(row(case, *measure(workers, reference, options.rounds)), flush=True)
                except (RuntimeError, OSError) as error:
                    print(f"{case}: {error}", file=sys.stderr, flush=True)
                    failed += 1
                for worker in workers:
                    worker.end()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
