"""Each rotation and norm that migration may rewrite computes the same, called by itself."""

import ast

import pytest
from proof import anchors, compare, definitions, migration

# Half a unit in the last place of bfloat16, relative: a result that is exact before it is rounded
# differs from the exact one by about this.
BFLOAT16_ROUNDING = 2.0**-9


def entry(results: dict, name: str) -> dict:
    found = results["definitions"][name]
    if "error" in found:
        pytest.fail(f"{name} did not run:\n{found['error']}")
    return found


def short(name: str) -> str:
    """A test's id: the definition's own name, its module and what varies."""
    definition, _, label = name.partition(": ")
    return f"{'.'.join(definition.split('.')[3:])}-{label}"


@pytest.mark.parametrize("name", definitions.CALLS, ids=short)
def test_same_function(original_results, migrated_results, name):
    before, after = entry(original_results, name), entry(migrated_results, name)
    for dtype in ("float32", "bfloat16"):
        assert [kind for _, kind in after[dtype]] == [kind for _, kind in before[dtype]], dtype
    for (reference, kind), (found, _) in zip(before["float32"], after["float32"], strict=True):
        tolerance = BFLOAT16_ROUNDING if kind == "torch.bfloat16" else 1e-6
        assert compare.relative_difference(reference, found) <= tolerance
    for (exact, _), (old, kind), (new, _) in zip(
        before["exact"], before["bfloat16"], after["bfloat16"], strict=True
    ):
        rounding = BFLOAT16_ROUNDING if kind == "torch.bfloat16" else 1e-6
        allowed = max(compare.BFLOAT16_FACTOR * compare.relative_difference(exact, old), rounding)
        assert compare.relative_difference(exact, new) <= allowed


# Rotations written out inside attention processors: they are no functions to call by themselves, and
# no model of models.py runs them. Their arithmetic is that of rotations called above.
INSIDE_PROCESSORS = {
    "MiniMaxH3VideoAttnProcessor.__call__": 2,
    "Cosmos3AttnProcessor.__call__": 5,
    "Ideogram4AttnProcessor.__call__": 2,
}


# Sites of the models of models.py at which a layer norm is called, at the least.
LAYER_NORMS_RUN = 30


def lines_that_run(original_results) -> dict[str, list[int]]:
    """By file, the lines of the frames that the models of models.py were seen in."""
    found: dict[str, list[int]] = {}
    frames = set()
    for name, results in original_results.items():
        if name != "definitions" and "error" not in results:
            for event in results["torch.float32"]["events"]:
                frames.update(event["frames"])
    for frame in frames:
        file, _, line = frame.rpartition(":")
        found.setdefault(f"{migration.PACKAGE}/{file}", []).append(int(line))
    return found


def runs(original, lines_run, site) -> bool:
    """Whether a model runs the function that the site stands in."""
    tree = ast.parse((original / site["file"]).read_text(encoding="utf-8"))
    around = anchors.function_around(tree, site["line"])
    return around is not None and any(
        around[0] <= line <= around[1] for line in lines_run.get(site["file"], [])
    )


def rewritten_here(migrated, chosen) -> list[dict]:
    """Sites of the rules that `chosen` accepts whose own text was rewritten."""
    return [
        site
        for site in migrated.report.sites
        if site["outcome"] == "rewritten" and site["through"] is None and chosen(site["rule"])
    ]


def test_layer_norms_run_in_the_models(original, original_results, migrated):
    """A call of a layer norm keeps its module; enough of them run, whatever class they stand in."""
    lines_run = lines_that_run(original_results)
    kinds = ("layernorm-", "residual-norm", "norm-in-float32")
    found = rewritten_here(migrated, lambda rule: rule.startswith(kinds))
    assert sum(runs(original, lines_run, site) for site in found) >= LAYER_NORMS_RUN


def test_every_rewritten_definition_runs(original, original_results, migrated):
    """What the report rewrote in a definition is called above, or runs in one of the models."""
    lines_run = lines_that_run(original_results)
    called = {call.definition for call in definitions.CALLS.values()}
    untried = []
    for site in rewritten_here(migrated, lambda rule: rule == "rms-norm" or rule.startswith("rotary-")):
        if not runs(original, lines_run, site) and site["callee"] not in called:
            untried.append(f"{site['file']}:{site['line']}: {site['callee']}")
    inside = dict.fromkeys(INSIDE_PROCESSORS, 0)
    for site in list(untried):
        name = ".".join(site.rpartition(".")[0].split(".")[-1:]) + ".__call__"
        if name in inside:
            inside[name] += 1
            untried.remove(site)
    assert inside == INSIDE_PROCESSORS
    assert not untried, "rewritten, but neither called here nor run by a model:\n" + "\n".join(
        untried
    )
