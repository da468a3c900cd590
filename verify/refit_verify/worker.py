"""The process that imports one version of the code and runs it: one request a line, one reply each.

Entry point: `main`. The process of the original finds inputs and runs them (`find`, `again`), also
in float64, and leaves inputs and results in a file; that of the migrated code runs the same
(`compare`).
"""

from __future__ import annotations

import json
import os
import sys

import torch

from . import compare, given, objects, search, sources, subject, trials, values
from .subject import KINDS, NotRun

FIRST_SEEDS = range(2)


class Worker:
    def __init__(self, job: dict):
        self.job = job
        self.folders = [os.path.join(job["root"], folder).rstrip("/") for folder in job["module_roots"]]
        texts = {}
        for file in job["files"]:
            with open(file[job["version"]], "rb") as stream:
                texts[os.path.join(job["root"], file["file"])] = stream.read()
        sources.use(job["root"], self.folders, texts)
        self.inputs: given.Inputs | None = None
        self.subjects: dict = {}

    def load(self, file: str) -> dict:
        _, placeholders = sources.load(os.path.join(self.job["root"], file), self.folders)
        return {"placeholders": placeholders}

    def runtime(self) -> dict:
        try:
            import mindiesd  # noqa: F401
        except Exception as error:
            raise given.CannotRun(f"importing mindiesd fails: {sources.said(error)}") from error
        return {}

    def read_inputs(self) -> dict:
        self.inputs = given.Inputs.read(self.job["inputs"])
        return {"names": sorted(self.inputs.calls)}

    def _subject(self, unit: dict) -> subject.Subject:
        key = (unit["file"], unit["name"])
        if key not in self.subjects:
            path = os.path.join(self.job["root"], unit["file"])
            module, _ = sources.load(path, self.folders)
            self.subjects[key] = subject.Subject(module, unit["name"], unit["arguments"])
        return self.subjects[key]

    def _prepared(self, one: subject.Subject, unit: dict, run: dict):
        """The object and the arguments of one run."""
        subject.seed_everything(run["seed"])
        if "given" in run:
            return None, self.inputs.of(unit["qualified"])[run["given"]]
        one.makes = run["makes"]
        trial = trials.Trial.read(run["trial"])
        made = one.object_for(trial, run["kind"])
        arguments = trials.Draw(run["seed"], *KINDS[run["kind"]]).arguments(one.signature(), trial)
        objects.fill(arguments[0], KINDS[run["kind"]][1])
        objects.fill(arguments[1], KINDS[run["kind"]][1])
        return made, arguments

    # The original.

    def find(self, unit: dict, exchange: str, seconds: float) -> dict:
        """Looks for inputs, and runs them."""
        one = self._subject(unit)
        if self.inputs is not None and unit["qualified"] in self.inputs.calls:
            count = len(self.inputs.calls[unit["qualified"]])
            plan = [{"given": number, "kind": "given", "seed": 0} for number in range(count)]
        else:
            try:
                found = search.Search(self.job["root"], one, unit, seconds).go()
            except subject.MakesModule:
                one.makes = True
                found = search.Search(self.job["root"], one, unit, seconds).go()
            plan = [
                {"trial": vars(trial), "kind": kind, "seed": 1000 + seed, "makes": one.makes}
                for kind in KINDS for trial in found for seed in FIRST_SEEDS
            ]  # fmt: skip
        return self.again(unit, exchange, plan)

    def again(self, unit: dict, exchange: str, plan: list[dict]) -> dict:
        """Runs these inputs."""
        one, done, runs, reasons = self._subject(unit), [], [], []
        lines = subject.Lines([os.path.join(self.job["root"], unit["file"])])
        for run in plan:
            try:
                with lines.noted():
                    content = self._original(one, unit, run)
            except NotRun:
                raise
            except Exception as error:  # not in these types
                reasons.append(sources.said(error))
                continue
            done.append(run)
            runs.append(content)
        if not runs:
            raise NotRun(f"the original raises {reasons[0]}" if reasons else "there is no input")
        torch.save(runs, exchange)
        return {"plan": done, "lines": sorted(lines.seen), "shown": runs[0]["shown"]}

    def _original(self, one: subject.Subject, unit: dict, run: dict) -> dict:
        made, arguments = self._prepared(one, unit, run)
        everything = (made, arguments)
        content = {
            "shown": values.described(arguments),
            "leaves": [t.detach().clone() for t in values.tensors(arguments)],
            "states": [_state(module) for module in values.modules(everything)],
        }
        wide_made, wide_arguments = values.wide_copy(made), values.wide_copy(arguments)
        content["before"] = _copies(one.call(made, values.copied(arguments)))
        if not any(t.is_floating_point() or t.is_complex() for t in content["before"]):
            raise NotRun("its result has no tensor of floating-point numbers")
        if "given" not in run and not values.finite(content["before"]):
            raise ValueError("the result is not finite")
        subject.seed_everything(run["seed"])
        try:
            with values.wide():
                content["exact"] = _copies(one.call(wide_made, wide_arguments))
        except Exception as error:
            raise NotRun(f"its run in float64 raises {sources.said(error)}") from error
        if [t.shape for t in content["before"]] != [t.shape for t in content["exact"]]:
            raise NotRun("its run in float64 has results of other shapes")
        return content

    # The migrated code.

    def compare(self, unit: dict, exchange: str, plan: list[dict]) -> dict:
        one, pool = self._subject(unit), compare.Pool()
        for run, content in zip(plan, torch.load(exchange, weights_only=True)):
            try:
                self._compare(one, unit, run, content, pool)
            except compare.Differs as difference:
                return {"differs": f"{difference} ({run['kind']}; {content['shown']})"}
        return {"entries": pool.entries}

    def _compare(self, one, unit, run, content, pool) -> None:
        try:
            made, arguments = self._prepared(one, unit, run)
        except objects.CannotMake as error:
            raise compare.Differs(str(error)) from error
        found = values.modules((made, arguments))
        if len(found) != len(content["states"]):
            raise NotRun("the inputs hold another number of modules for the migrated code")
        for module, state in zip(found, content["states"]):
            _take_state(module, state)
        if len(values.tensors(arguments)) != len(content["leaves"]):
            raise NotRun("the inputs hold another number of tensors for the migrated code")
        leaves = iter(content["leaves"])
        arguments = values.replaced(arguments, lambda tensor: next(leaves).clone())
        subject.seed_everything(run["seed"])
        try:
            after = one.call(made, arguments)
        except Exception as error:
            raise compare.Differs(f"the migrated code raises {sources.said(error)}") from error
        pool.add(
            run["kind"], content["before"], after, content["exact"], content["leaves"], unit["averages"]
        )


def _copies(results) -> list[torch.Tensor]:
    return [t.detach().clone() for t in results]


def _state(module: torch.nn.Module) -> dict:
    persistent = {
        name: value.detach().clone()
        for name, value in module.state_dict().items() if isinstance(value, torch.Tensor)
    }  # fmt: skip
    buffers = {name: value.detach().clone() for name, value in module.named_buffers()}
    return {"keys": list(persistent), "values": {**buffers, **persistent}}


def _take_state(module: torch.nn.Module, state: dict) -> None:
    """Gives a module of the migrated code what the original's holds. Raises compare.Differs."""
    own = _state(module)
    if set(own["keys"]) != set(state["keys"]):
        only = sorted(set(own["keys"]) ^ set(state["keys"]))
        raise compare.Differs(f"the state_dict of {type(module).__name__} has other keys: {', '.join(only)}")
    targets = {**dict(module.named_buffers()), **dict(module.named_parameters())}
    with torch.no_grad():
        for name, value in state["values"].items():
            target = targets.get(name)
            if target is None:
                continue
            if target.shape != value.shape:
                raise compare.Differs(f"{type(module).__name__}.{name} has another shape")
            target.data = value.clone()


def main(job_path: str) -> None:
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)  # what the code prints is not looked at
    # The tool's own folder is no place to import user's modules from.
    sys.path[:] = [folder for folder in sys.path if folder != os.path.dirname(os.path.dirname(__file__))]
    torch.set_num_threads(1)
    with open(job_path, encoding="utf-8") as stream:
        job = json.load(stream)
    worker = Worker(job)
    for line in requests:
        request = json.loads(line)
        try:
            reply = getattr(worker, request["do"])(*request["with"])
        except (NotRun, sources.Missing, objects.CannotMake) as error:
            reply = {"not run": str(error)}
        except given.CannotRun as error:
            reply = {"cannot run": str(error)}
        except BaseException as error:  # user code may raise anything, SystemExit too
            reply = {"not run": f"it raises {sources.said(error)}"}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()
