"""Looks for arguments that a function of the original takes, and that reach its rewritten sites.

Entry point: `Search.go`.
"""

from __future__ import annotations

import dataclasses
import os
import time

import torch

from . import objects, sources, subject, trials, values
from .subject import KINDS, NotRun, seed_everything

TRIALS = 4000  # guesses at one function's arguments;
MORE_TRIALS = 200  # so many once one fits well
KEPT = 40  # guesses that fit, of which the best are taken
WANTED = 2  # of these, or one of each kind of mask
VARIANTS = 400  # guesses with other flags, where a site is not reached


@dataclasses.dataclass(frozen=True)
class Fit:
    """A guess that the original takes. unlikely: 0 where results are shaped like inputs, 1 where they
    are no larger, 2 else. reached: the sites whose lines ran."""

    unlikely: int
    number: int
    trial: trials.Trial
    reached: frozenset[int]


class Search:
    """Tries guesses at one function's arguments until enough fit."""

    def __init__(self, root: str, one: subject.Subject, unit: dict, seconds: float):
        self.one = one
        self.sites = unit["sites"]
        self.signature = one.signature()
        self.until = time.monotonic() + seconds
        self.path = os.path.join(root, unit["file"])
        self.made: dict = {}
        self.nearest = (-1, "")  # of the guesses that do not fit: how many lines ran, and what it raised
        self.tried = 0
        self.fits: list[Fit] = []

    def go(self) -> list[trials.Trial]:
        """The guesses to compare with. Raises NotRun where none fits."""
        has_object = self.one.cls is not None or self.one.makes
        smalls = [small for small in (True, False) if self._makes(small)] if has_object else [True]
        if not smalls:
            raise NotRun(self.nearest[1])
        # Sites may assume what no boolean mask is.
        floating = any("mask is floating" in text for site in self.sites for text in site["assumes"])
        masks = tuple(mask for mask in trials.MASKS if not (floating and mask == "bool"))
        self._try(trials.trials(self.signature, self._widths, smalls, masks), masks)
        if not self.fits:
            raise NotRun(self._why())
        if self._missing():
            self._vary()
        return self._chosen()

    def _try(self, guesses, masks) -> None:
        last = TRIALS
        wanted = dict.fromkeys(masks, 1) if self.signature.has("mask") else {None: WANTED}
        for trial in guesses:
            if time.monotonic() > self.until or self.tried > last or len(self.fits) == KEPT:
                return
            fit = self._fit(trial)
            if fit is None:
                continue
            self.fits.append(fit)
            if fit.unlikely == 0:
                last = min(last, self.tried + MORE_TRIALS)
                wanted[trial.mask] -= 1
                if all(left <= 0 for left in wanted.values()):
                    return

    def _vary(self) -> None:
        """Turns flags over, as long as sites are not reached."""
        for fit in sorted(self.fits, key=lambda fit: (fit.unlikely, fit.number))[:WANTED]:
            attributes = self.one.attributes(self._object(fit.trial))
            for number, trial in enumerate(trials.variants(self.signature, fit.trial, attributes)):
                if not self._missing() or number == VARIANTS or time.monotonic() > self.until:
                    return
                other = self._fit(trial)
                if other is not None and other.reached & self._missing():
                    self.fits.append(other)

    def _missing(self) -> frozenset[int]:
        reached = frozenset().union(*(fit.reached for fit in self.fits))
        return frozenset(site["id"] for site in self.sites if not site["whole"]) - reached

    def _chosen(self) -> list[trials.Trial]:
        """The likeliest guesses, one of each kind of mask, and those that reach further sites."""
        likeliest = sorted(self.fits, key=lambda fit: (fit.unlikely, fit.number))
        chosen: list[Fit] = []
        reached: frozenset[int] = frozenset()
        least = likeliest[0].unlikely
        for fit in likeliest:
            same = sum(other.trial.mask == fit.trial.mask for other in chosen)
            few = same < (1 if self.signature.has("mask") else WANTED) and fit.unlikely == least
            if few or fit.reached - reached:
                chosen.append(fit)
                reached |= fit.reached
        return [fit.trial for fit in chosen]

    def _makes(self, small: bool) -> bool:
        guess = trials.Trial(small, (), False, 0, None, None, "BSC", None, None, False)
        return self._object(guess) is not None

    def _object(self, trial: trials.Trial):
        """The object to try a guess on, None where none can be made."""
        key = (trial.small, trial.attributes)
        if key not in self.made:
            lines = subject.Lines([self.path])
            try:
                with lines.noted():
                    self.made[key] = (self.one.object_for(trial, "float32"), lines.seen)
            except objects.CannotMake as error:
                self.made[key] = (None, set())
                self._note(str(error), 0)
        return self.made[key][0]

    def _widths(self, small: bool) -> list[int]:
        return objects.widths(self.made.get((small, ()), (None,))[0])

    def _fit(self, trial: trials.Trial) -> Fit | None:
        """What comes of a guess, None where the original does not take it."""
        self.tried += 1
        lines = subject.Lines([self.path])
        try:
            made = self._object(trial)
            arguments = trials.Draw(self.tried, *KINDS["float32"]).arguments(self.signature, trial)
            objects.fill(arguments, torch.float32)
            seed_everything(1)
            with lines.noted():
                results = self.one.call(made, values.copied(arguments))
            seed_everything(2)
            again = self.one.call(made, values.copied(arguments))
        except subject.MakesModule:
            raise
        except Exception as error:
            self._note(sources.said(error), len(lines.seen))
            return None
        inputs = values.tensors(arguments)
        own = results[: len(results) - len(inputs)] if len(results) >= len(inputs) else results
        if not any(t.is_floating_point() or t.is_complex() for t in own) or not values.finite(results):
            self._note("it gives no finite tensor", len(lines.seen))
            return None
        if any(a.shape != b.shape or not torch.equal(a, b) for a, b in zip(results, again)):
            reason = "it gives another result each time it is called (random numbers, or a state)"
            self._note(reason, len(lines.seen))
            return None
        seen = lines.seen | self.made.get((trial.small, trial.attributes), (None, set()))[1]
        reached = frozenset(
            site["id"] for site in self.sites
            if site["whole"] or any(site["line"] <= line <= site["end_line"] for line in seen)
        )  # fmt: skip
        return Fit(_unlikely(own, inputs), self.tried, trial, reached)

    def _note(self, reason: str, lines: int) -> None:
        if lines > self.nearest[0]:
            self.nearest = (lines, reason)

    def _why(self) -> str:
        if self.nearest[0] < 0:
            return "no input was tried in the time that there is for it, a third of --seconds"
        tried = f"{self.tried} drawn inputs do not fit" if self.tried != 1 else "the drawn input does not fit"
        return f"{tried}; the one that comes farthest: {self.nearest[1]}"


def _unlikely(results, inputs) -> int:
    kept = {tuple(t.shape) for t in inputs}
    if all(tuple(t.shape) in kept for t in results):
        return 0
    return 1 if all(t.numel() <= max((i.numel() for i in inputs), default=0) for t in results) else 2
