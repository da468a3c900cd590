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


def test_every_rewritten_definition_runs(original, original_results, migrated):
    """What the report rewrote in a definition is called above, or runs in one of the models."""
    ran = set()
    for name, found in original_results.items():
        if name != "definitions" and "error" not in found:
            for event in found["torch.float32"]["events"]:
                ran.update(event["frames"])
    lines_run: dict[str, list[int]] = {}
    for frame in ran:
        file, _, line = frame.rpartition(":")
        lines_run.setdefault(f"{migration.PACKAGE}/{file}", []).append(int(line))

    called = {call.definition for call in definitions.CALLS.values()}
    untried = []
    for site in migrated.report.sites:
        is_definition = migration.kind_of(site) in ("rotary", "norm")
        if site["outcome"] != "rewritten" or site["through"] is not None or not is_definition:
            continue
        if site["callee"].startswith("torch."):
            continue  # a module of torch: its calls run in the models, its class is the runtime's
        tree = ast.parse((original / site["file"]).read_text(encoding="utf-8"))
        around = anchors.function_around(tree, site["line"])
        runs = around is not None and any(
            around[0] <= line <= around[1] for line in lines_run.get(site["file"], [])
        )
        if not runs and site["callee"] not in called:
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
