"""Every model computes the same with the migrated package, and by the runtime alone."""

import collections

import pytest
from proof import compare, models, observe

DTYPES = ("torch.float32", "torch.bfloat16")


def entry(results: dict, name: str) -> dict:
    found = results[name]
    if "error" in found:
        pytest.fail(f"{name} did not run:\n{found['error']}")
    return found


def implied(name: str) -> dict[str, int]:
    case = models.CASES[name]
    counts = case.counts(case.config)
    return {"attention": counts.attention, "rotary": counts.rotary, "norm": counts.norm}


@pytest.mark.parametrize("name", models.CASES)
def test_original_runs_what_the_configuration_implies(original_results, name):
    """The observer's telltales fire on the original exactly as often as the configuration says."""
    found = entry(original_results, name)
    for dtype in DTYPES:
        assert compare.count_kinds(found[dtype]["events"]) == implied(name), dtype
        assert found[dtype]["runtime"] == {}


@pytest.mark.parametrize("name", models.CASES)
def test_original_inputs_tell_axes_apart(original_results, name):
    """Batch, heads, length and head size of every attention differ; outputs are alive."""
    found = entry(original_results, name)["torch.float32"]
    for event in found["events"]:
        if event["kind"] == "attention":
            assert len(set(event["shape"])) == 4, compare.describe(event)
    assert found["outputs"]
    for output in found["outputs"]:
        assert output.isfinite().all()
        assert 0.1 < output.std() < 10


@pytest.mark.parametrize("name", models.CASES)
def test_state_dict_keys_stay(original_results, migrated_results, name):
    assert entry(migrated_results, name)["keys"] == entry(original_results, name)["keys"]


@pytest.mark.parametrize("name", models.CASES)
def test_float32_outputs_agree(original_results, migrated_results, name):
    before = entry(original_results, name)["torch.float32"]["outputs"]
    after = entry(migrated_results, name)["torch.float32"]["outputs"]
    assert len(before) == len(after)
    for reference, found in zip(before, after, strict=True):
        assert compare.relative_difference(reference, found) <= compare.FLOAT32_TOLERANCE


@pytest.mark.parametrize("name", models.CASES)
def test_bfloat16_is_as_accurate(original_results, migrated_results, name):
    reference = entry(original_results, name)["torch.float32"]["outputs"]
    before = entry(original_results, name)["torch.bfloat16"]["outputs"]
    after = entry(migrated_results, name)["torch.bfloat16"]["outputs"]
    assert len(reference) == len(before) == len(after)
    for exact, old, new in zip(reference, before, after, strict=True):
        allowed = compare.BFLOAT16_FACTOR * compare.relative_difference(exact, old)
        assert compare.relative_difference(exact, new) <= allowed


@pytest.mark.parametrize("name", models.CASES)
def test_runtime_does_the_work(original, migrated, migrated_results, name):
    """Nothing runs the old way but at sites that the report refused; the rest is the runtime's."""
    finder = compare.SiteFinder(original, migrated.root, migrated.report)
    found = entry(migrated_results, name)
    for dtype in DTYPES:
        events = found[dtype]["events"]
        unexplained = collections.Counter(
            compare.describe(e) for e in events + found[dtype]["kernels"] if not finder.refused(e)
        )
        assert not unexplained, (
            f"{dtype}: ran the old way, and no refused site says so:\n"
            + "\n".join(f"{times} x {what}" for what, times in unexplained.items())
        )

        counts = compare.count_kinds(events)
        for operator, calls in found[dtype]["runtime"].items():
            kind = observe.runtime_kind(operator)
            if kind in counts:
                counts[kind] += calls
        assert counts == implied(name), f"{dtype}: runtime calls {found[dtype]['runtime']}"

        # The profiler sees below the runtime's operators: no kernel may run oftener than Python
        # code asked.
        asked = compare.count_kinds([e for e in events if e["how"] in observe.TORCH_KERNELS])
        hidden = {
            n: calls
            for n, calls in found[dtype]["below"].items()
            if calls > asked[observe.TORCH_KERNELS[n]]
        }
        assert not hidden, f"{dtype}: the runtime's operators themselves called torch's {hidden}"
