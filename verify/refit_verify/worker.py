"""The process that imports one version of the code and runs it: one request a line, one reply each.

Entry point: `main`. The process of the original finds inputs and runs them (`find`, `again`), also
in float64, and leaves inputs and results in a file; that of the migrated code runs the same
(`compare`).
"""

from __future__ import annotations

import json
import os
import random
import sys
import time

import torch

from . import compare, given, objects, sources, subject, trials, values
from .subject import KINDS, NotRun

TRIALS = 4000  # guesses at one function's arguments;
MORE_TRIALS = 200  # so many once one fits well
WANTED = 2  # that are to fit, or one of each kind of mask
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
            self.subjects[key] = subject.Subject(module, unit["name"])
        return self.subjects[key]

    def _prepared(self, one: subject.Subject, unit: dict, run: dict):
        """The object and the arguments of one run."""
        seed_everything(run["seed"])
        if "given" in run:
            return None, self.inputs.of(unit["qualified"])[run["given"]]
        trial = trials.Trial(**{**run["trial"], "table": _tuple(run["trial"]["table"])})
        made = one.object_for(trial.small, run["kind"])
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
            found = Search(self.job["root"], one, unit, seconds).go()
            plan = [
                {"trial": vars(trial), "kind": kind, "seed": 1000 + seed}
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
        if "given" not in run and not _finite(content["before"]):
            raise ValueError("the result is not finite")
        seed_everything(run["seed"])
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
        seed_everything(run["seed"])
        try:
            after = one.call(made, arguments)
        except Exception as error:
            raise compare.Differs(f"the migrated code raises {sources.said(error)}") from error
        pool.add(
            run["kind"], content["before"], after, content["exact"], content["leaves"], unit["averages"]
        )


class Search:
    """Tries guesses at one function's arguments until enough fit."""

    def __init__(self, root: str, one: subject.Subject, unit: dict, seconds: float):
        self.one, self.unit = one, unit
        self.signature = one.signature()
        self.until = time.monotonic() + seconds
        self.path = os.path.join(root, unit["file"])
        self.made: dict = {}
        self.made_on: dict[bool, set[int]] = {}  # the lines that ran when an object was made
        self.reasons: dict[str, int] = {}
        self.tried = 0

    def go(self) -> list[trials.Trial]:
        smalls = [small for small in (True, False) if self._object(small)] if self.one.cls else [True]
        if not smalls:
            raise NotRun(next(iter(self.reasons)))
        has_masks = self.signature.has("mask")
        # Sites may assume what no boolean mask is.
        floating = any("mask is floating" in text for site in self.unit["sites"] for text in site["assumes"])
        masks = tuple(mask for mask in trials.MASKS if not (floating and mask == "bool"))
        best: dict = {}  # by mask: (score, when, trial)
        last = TRIALS
        for trial in trials.trials(self.signature, self._widths, smalls, masks):
            if time.monotonic() > self.until or self.tried > last:
                break
            score = self._score(trial)
            if score is None:
                continue
            kept = best.setdefault(trial.mask, [])
            kept.append((score, self.tried, trial))
            kept.sort(key=lambda entry: entry[:2])
            del kept[1 if has_masks else WANTED :]
            full = all(mask in best for mask in masks) if has_masks else len(kept) == WANTED
            if full and all(entry[0] == (0, 0) for kept in best.values() for entry in kept):
                break
            if score == (0, 0):
                last = min(last, self.tried + MORE_TRIALS)
        found = [entry for kept in best.values() for entry in kept]
        if not found:
            raise NotRun(self._why())
        least = min(score for score, _, _ in found)
        return [trial for score, _, trial in found if score == least]

    def _object(self, small: bool):
        if small not in self.made:
            lines = subject.Lines([self.path])
            try:
                with lines.noted():
                    self.made[small] = self.one.object_for(small, "float32")
                self.made_on[small] = lines.seen
            except objects.CannotMake as error:
                self.made[small] = None
                self._note(str(error))
        return self.made[small] is not None

    def _widths(self, small: bool) -> list[int]:
        return objects.widths(self.made.get(small))

    def _score(self, trial: trials.Trial):
        """How unlikely the guess is, None where the original does not take it: the number of sites
        that it does not reach; 0 where results are shaped like inputs, 1 no larger, 2 others."""
        self.tried += 1
        made = self.made.get(trial.small)
        lines = subject.Lines([self.path])
        try:
            arguments = trials.Draw(self.tried, *KINDS["float32"]).arguments(self.signature, trial)
            objects.fill(arguments[0], torch.float32)
            objects.fill(arguments[1], torch.float32)
            seed_everything(1)
            with lines.noted():
                results = self.one.call(made, values.copied(arguments))
            seed_everything(2)
            again = self.one.call(made, values.copied(arguments))
        except Exception as error:
            self._note(sources.said(error))
            return None
        results, again = ([t for t in some] for some in (results, again))
        inputs = values.tensors(arguments)
        own = results[: len(results) - len(inputs)] if len(results) >= len(inputs) else results
        if not any(t.is_floating_point() or t.is_complex() for t in own) or not _finite(results):
            self._note("it gives no finite tensor")
            return None
        if any(a.shape != b.shape or not torch.equal(a, b) for a, b in zip(results, again)):
            self._note("it gives another result each time it is called (random numbers, or a state)")
            return None
        seen = lines.seen | self.made_on.get(trial.small, set())
        missed = sum(
            not site["whole"] and not any(site["line"] <= line <= site["end_line"] for line in seen)
            for site in self.unit["sites"]
        )
        kept = {tuple(t.shape) for t in inputs}
        most = max((t.numel() for t in inputs), default=0)
        if all(tuple(t.shape) in kept for t in own):
            return missed, 0
        return missed, 1 if all(t.numel() <= most for t in own) else 2

    def _note(self, reason: str) -> None:
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def _why(self) -> str:
        tried = f"{self.tried} drawn inputs do not fit" if self.tried != 1 else "the drawn input does not fit"
        reason = max(self.reasons, key=self.reasons.get) if self.reasons else ""
        return f"{tried}; most often: {reason}" if reason else tried


def _tuple(table):
    return None if table is None else tuple(table)


def _copies(results) -> list[torch.Tensor]:
    return [t.detach().clone() for t in results]


def _finite(results) -> bool:
    return all(bool(t.isfinite().all()) for t in results if t.is_floating_point() or t.is_complex())


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


def seed_everything(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)


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
