"""Reads the job, asks both processes, and writes the answer.

Entry point: `main`. The rule of accuracy stands here: against the original's run in float64, the
largest and the root-mean-square error may each be 1.25 times the original's, or 2 units in the last
place of the result's type, whichever is larger.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
import tempfile

from . import process, units

FACTOR = 1.25
UNITS = 2
SEEDS = 2  # draws of each input;
MORE_SEEDS = 24  # so many where those show a worse error, which may be an unlucky draw


class NotRun(Exception):
    pass


class Driver:
    def __init__(self, job: dict, folder: str):
        self.job, self.folder = job, folder
        self.processes = {}
        for version in ("before", "after"):
            path = os.path.join(folder, version + ".json")
            with open(path, "w", encoding="utf-8") as stream:
                json.dump({**job, "version": version}, stream)
            self.processes[version] = process.Process(path)
        self.given: list[str] = []
        self.placeholders: set[str] = set()
        self.words: dict[str, set[str]] = {}  # of each file's original text
        self.loaded: dict = {}

    def run(self) -> dict:
        answer: dict = {"functions": [], "error": None, "unused": [], "placeholders": []}
        try:
            for one in self.processes.values():
                one.start()
            self._ask("after", "runtime", "importing mindiesd")
            if self.job["inputs"]:
                for version in ("after", "before"):
                    self.given = self._ask(version, "read_inputs", "reading the inputs")["names"]
            todo = [unit for file in self.job["files"] for unit in self._units(file)]
            self._show(0, len(todo))
            parent = os.getppid()
            for number, unit in enumerate(todo):
                if os.getppid() != parent:
                    break  # refit is gone, and with it whoever reads the answer
                answer["functions"].append(self._function(unit))
                self._show(number + 1, len(todo))
        except _CannotRun as error:
            answer["error"] = str(error)
        finally:
            for one in self.processes.values():
                one.end()
        known = {one["function"] for one in answer["functions"]}
        answer["unused"] = [name for name in self.given if name not in known]
        answer["placeholders"] = sorted(self.placeholders)
        return answer

    def _show(self, done: int, total: int) -> None:
        if self.job["progress"] and total:
            end = "\r" if done < total else "\r\x1b[K"
            print(f"refit: {done} of {total} functions", end=end, file=sys.stderr, flush=True)

    def _units(self, file: dict) -> list[dict]:
        texts = []
        for version in ("before", "after"):
            with open(file[version], "rb") as stream:
                texts.append(stream.read())
        self.words[file["file"]] = set(re.findall(r"\w+", texts[0].decode("utf-8", "replace")))
        try:
            found = units.changed(file["file"], *texts, file["sites"])
        except (SyntaxError, ValueError, RecursionError) as error:
            only = {"file": file["file"], "name": "", "line": 1, "line_after": 1, "averages": False}
            only["sites"] = [site["id"] for site in file["sites"]]
            return [{**only, "problem": f"python cannot parse the file: {error}"}]
        return [vars(unit) for unit in found]

    def _function(self, unit: dict) -> dict:
        """One function's part of the answer."""
        numbers = set(unit["sites"])
        sites = [
            site for file in self.job["files"] if file["file"] == unit["file"]
            for site in file["sites"] if site["id"] in numbers
        ]  # fmt: skip
        module = self._module(unit["file"])
        unit = {**unit, "sites": sites, "qualified": f"{module}.{unit['name']}" if unit["name"] else module}
        unit["arguments"] = next(one["arguments"] for one in self.job["files"] if one["file"] == unit["file"])
        answer = {
            "file": unit["file"], "line": unit["line" if self.job["original_lies"] else "line_after"],
            "function": unit["qualified"],
            "sites": sorted(numbers), "unreached": [], "verdict": "not-run", "reason": "",
            "given": unit["qualified"] in self.given, "inputs": 0, "shown": "", "errors": [],
            "placeholders": [],
        }  # fmt: skip
        try:
            self._run(unit, answer)
        except NotRun as reason:
            answer["reason"] = str(reason)
        return answer

    def _module(self, file: str) -> str:
        from . import sources

        folders = [os.path.join(self.job["root"], one).rstrip("/") for one in self.job["module_roots"]]
        return sources.module_name(os.path.join(self.job["root"], file), folders)[0]

    def _run(self, unit: dict, answer: dict) -> None:
        if unit.get("problem"):
            raise NotRun(unit["problem"])
        if not unit["name"]:
            raise NotRun("the code stands outside of functions")
        placeholders = {name for version in ("before", "after") for name in self._load(version, unit["file"])}
        self.placeholders |= placeholders
        answer["placeholders"] = sorted(name for name in placeholders if name in self.words[unit["file"]])
        exchange = os.path.join(self.folder, "exchange.pt")
        search = self.job["seconds"] / 3
        found = self._ask("before", "find", "the original", unit, exchange, search)
        answer["inputs"], answer["shown"] = len(found["plan"]), found["shown"]
        seen = found["lines"]
        answer["unreached"] = [
            site["id"] for site in unit["sites"]
            if not site["whole"] and not any(site["line"] <= line <= site["end_line"] for line in seen)
        ]  # fmt: skip
        first = self._compare(unit, answer, exchange, found["plan"], {})
        if first is None:
            return
        if worse(first) and not answer["given"]:
            plan = [
                {**run, "seed": run["seed"] + more}
                for run in found["plan"][::SEEDS] if run["kind"] in _broken(first)
                for more in range(SEEDS, MORE_SEEDS)
            ]  # fmt: skip
            try:
                again = self._ask("before", "again", "the original", unit, exchange, plan)
                first = self._compare(unit, answer, exchange, again["plan"], first)
            except NotRun as reason:
                raise NotRun(f"{worse(first)} in the first inputs, and then {reason}") from None
            if first is None:
                return
            answer["inputs"] += len(again["plan"])
        answer["errors"] = [_shown(name, entry) for name, entry in first.items()]
        reason = worse(first)
        answer["verdict"], answer["reason"] = ("differs", reason) if reason else ("agrees", "")
        if not reason and unit["sites"] and len(answer["unreached"]) == len(unit["sites"]):
            answer["verdict"] = "not-run"
            answer["reason"] = "no input that was found reaches a rewritten site"

    def _compare(self, unit, answer, exchange, plan, before: dict) -> dict | None:
        """The errors, with those of earlier inputs; None where the migrated code gives another kind
        of result, which the answer then says."""
        try:
            reply = self._ask("after", "compare", "the migrated code", unit, exchange, plan)
        except _Crash as crash:
            reply = {"differs": f"the migrated code {crash}, and the original ran"}
        if "differs" in reply:
            answer["verdict"], answer["reason"] = "differs", reply["differs"]
            return None
        return merged(before, reply["entries"])

    def _load(self, version: str, file: str) -> list[str]:
        which = {"before": "original", "after": "migrated"}[version]
        if (version, file) not in self.loaded:
            try:
                reply = self._ask(version, "load", f"importing the {which} file", file)
                self.loaded[version, file] = (reply["placeholders"], None)
            except NotRun as reason:
                self.loaded[version, file] = ([], f"{reason} (the {which} file)")
        placeholders, reason = self.loaded[version, file]
        if reason is not None:
            raise NotRun(reason)
        return placeholders

    def _ask(self, version: str, what: str, shown: str, *arguments) -> dict:
        try:
            reply = self.processes[version].ask(self.job["seconds"], what, *arguments)
            if "not run" in reply:
                raise NotRun(reply["not run"])
        except process.TookTooLong:
            raise NotRun(f"{shown} took more than {self.job['seconds']:g} s") from None
        except process.Crashed as crash:
            if what == "compare":
                raise _Crash(str(crash)) from None
            raise NotRun(f"{shown} crashed: the process {crash}") from None
        if "cannot run" in reply:
            raise _CannotRun(reply["cannot run"])
        return reply


class _Crash(Exception):
    pass


class _CannotRun(Exception):
    pass


def merged(one: dict, other: dict) -> dict:
    """Errors as over the inputs of both."""
    found = {name: dict(entry) for name, entry in one.items()}
    for name, entry in other.items():
        if name not in found:
            found[name] = entry
            continue
        known = found[name]
        known["max"] = [max(pair) for pair in zip(known["max"], entry["max"])]
        known["squares"] = [sum(pair) for pair in zip(known["squares"], entry["squares"])]
        known["count"] += entry["count"]
    return found


def worse(entries: dict) -> str:
    """Which error breaks the rule of accuracy, "" if none does."""
    return next(iter(_broken(entries).values()), "")


def _broken(entries: dict) -> dict[str, str]:
    """By the kind of inputs, an error that breaks the rule of accuracy."""
    found: dict[str, str] = {}
    for name, entry in entries.items():
        for what, (was, now) in (("largest", entry["max"]), ("root-mean-square", _means(entry))):
            allowed = max(FACTOR * was, UNITS * entry["eps"])
            kind = name.partition("/")[0]
            if not now <= allowed:
                found.setdefault(
                    kind,
                    f"the {what} error is {now:.2g}, where the original's is {was:.2g} and "
                    f"{allowed:.2g} is allowed ({kind})",
                )
    return found


def _means(entry: dict) -> list[float]:
    return [(part / max(1, entry["count"])) ** 0.5 for part in entry["squares"]]


def _number(value: float) -> float:
    return min(value, sys.float_info.max)  # JSON has no infinity


def _shown(name: str, entry: dict) -> dict:
    kind, _, number = name.rpartition("/")
    means = _means(entry)
    return {
        "inputs": kind, "result": int(number), "dtype": entry["dtype"],
        "original": {"largest": _number(entry["max"][0]), "root_mean_square": _number(means[0])},
        "migrated": {"largest": _number(entry["max"][1]), "root_mean_square": _number(means[1])},
    }  # fmt: skip


def missing() -> str:
    """What this Python lacks, "" if nothing."""
    for name in ("torch", "mindiesd"):
        if importlib.util.find_spec(name) is None:
            return f"{sys.executable} has no {name}; name an interpreter that has it with --python"
    return ""


def main(job_path: str, answer_path: str) -> int:
    with open(job_path, encoding="utf-8") as stream:
        job = json.load(stream)
    lacks = missing()
    if lacks:
        answer = {"functions": [], "error": lacks, "unused": [], "placeholders": []}
    else:
        with tempfile.TemporaryDirectory(prefix="refit-verify-") as folder:
            answer = Driver(job, folder).run()
    with open(answer_path, "w", encoding="utf-8") as stream:
        json.dump(answer, stream)
    return 0
