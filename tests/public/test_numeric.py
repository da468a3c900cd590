"""What was rewritten in the public packages computes what stood there before, on random tensors.

survey/numeric.py says how. Code that is equal but for names is run once. What cannot be run by
itself is named, with the reason, in tests/score/not_run.jsonl; scripts/update_public.py writes it.
"""

import collections

import pytest
from survey import packages, score

# The share of functions with rewritten sites that must have been run (issue 4).
WANTED = {"rotary": 0.9, "norm": 0.9, "attention": 0.7}


@pytest.fixture(scope="module")
def ran(everything):
    """(package, case) -> numeric.Outcome for every function with a rewritten site."""
    pytest.importorskip("torch")
    from survey import numeric

    return numeric.run_all(everything)


@pytest.mark.parametrize("package", packages.PACKAGES, ids=lambda package: package.name)
def test_same_function(ran, package):
    wrong = [
        f"{case.file}: {case.owner} ({case.kind}): {outcome.wrong}"
        for (name, case), outcome in ran.items()
        if name == package.name and outcome.wrong
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("kind", WANTED)
def test_most_were_run(ran, kind):
    counts = collections.Counter(
        bool(outcome.compared) for (_, case), outcome in ran.items() if case.kind == kind
    )
    assert counts[True] >= WANTED[kind] * counts.total() > 0, counts


def test_what_was_not_run_is_named(ran):
    named = {tuple(entry[key] for key in score.NOT_RUN_KEYS) for entry in score.not_run()}
    left = {
        (name, case.file, case.owner, case.kind)
        for (name, case), outcome in ran.items()
        if not outcome.compared and not outcome.wrong
    }
    assert not left - named, f"not run and not named: {sorted(left - named)}"
    assert not named - left, f"named, and run or gone: {sorted(named - left)}"
    assert all(entry["why"].strip() for entry in score.not_run())
