"""The frame of mindiesd.prepare: arguments, profiles, what is compared, taken back and restored; and dropouts."""

import copy
import io

import pytest
import torch
from torch import nn

import mindiesd
from mindiesd.prepare import STEPS, Step
from mindiesd.prepare.step import allowed
from mindiesd.utils import ParametersInvalid


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 8)
        self.drop, self.alpha, self.same = nn.Dropout(0.5), nn.AlphaDropout(0.1), nn.Identity()

    def forward(self, x, scale=1.0):
        return self.same(self.alpha(self.second(self.drop(self.first(x).relu())))) * scale


class Broken(Step):
    """Changes a module and fails then."""

    name = "remove-dropout"

    def apply(self, work):
        STEPS["kept"].apply(work)
        raise ValueError("no more")


class Doubling(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


class Wrong(Step):
    """Makes the results twice as large."""

    name = "remove-dropout"

    def apply(self, work):
        work.swap(work.model.second, Doubling, "is wrong")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"speed": "faster"}, "speed must be one of"),
        ({"steps": ["fold"]}, "steps must be some of half-precision"),
        ({"steps": "remove-dropout"}, r"write \['remove-dropout'\]"),
        ({"tolerance": -1}, "tolerance must be"),
        ({"example_inputs": 3}, "example_inputs must be a tensor"),
        ({"example_inputs": []}, "at least one call"),
    ],
)
def test_bad_arguments(arguments, text):
    model = Mlp().eval()
    with pytest.raises(ParametersInvalid, match=text):
        mindiesd.prepare(model, **arguments)
    assert type(model.drop) is nn.Dropout


def test_a_model_is_a_module():
    with pytest.raises(ParametersInvalid, match="model must be a torch.nn.Module, but a function"):
        mindiesd.prepare(lambda x: x)


def test_example_inputs_that_the_model_refuses_leave_it_as_it_was():
    model = Mlp().eval()
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        mindiesd.prepare(model, torch.randn(2, 9))
    assert type(model.drop) is nn.Dropout


@pytest.mark.parametrize(
    "examples",
    [
        torch.randn(2, 8),
        (torch.randn(2, 8), 0.5),
        {"x": torch.randn(2, 8), "scale": 2.0},
        [(torch.randn(2, 8),), {"x": torch.randn(3, 1, 8)}],
        None,
    ],
    ids=["tensor", "positional", "keywords", "several calls", "none"],
)
def test_dropouts_return_their_input(examples):
    model, x = Mlp().eval(), torch.randn(3, 8)
    expected, keys = model(x), list(model.state_dict())
    report = mindiesd.prepare(model, examples)
    assert [entry.where for entry in report.changes] == ["drop", "alpha", "same"]
    assert report.count("remove-dropout") == 3
    assert report.errors == ({} if examples is None else {"remove-dropout": 0.0})
    assert isinstance(model.drop, nn.Dropout) and model.drop(x) is x and model.same(x) is x
    assert torch.equal(model(x), expected) and list(model.state_dict()) == keys
    report.restore()
    assert [type(m) for m in (model.drop, model.alpha, model.same)] == [nn.Dropout, nn.AlphaDropout, nn.Identity]
    assert torch.equal(model(x), expected)


def test_a_prepared_dropout_drops_in_training_and_calls_hooks():
    model, x = Mlp().eval(), torch.ones(64, 16)
    mindiesd.prepare(model)
    model.train()
    assert (model.drop(x) == 0).any()
    model.eval()
    seen = []
    handle = model.drop.register_forward_hook(lambda *call: seen.append(call))
    assert torch.equal(model.drop(x), x) and len(seen) == 1
    handle.remove()
    assert torch.equal(model.drop(input=x), x)
    with pytest.raises(TypeError):
        model.drop(x, x)


def test_copies_and_pickles_are_prepared_and_can_be_restored():
    model, x = Mlp().eval(), torch.randn(3, 8)
    mindiesd.prepare(model)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    for other in (copy.deepcopy(model), torch.load(file, weights_only=False)):
        assert torch.equal(other(x), model(x))
        mindiesd.restore(other)
        assert type(other.drop) is nn.Dropout
    assert type(model.drop) is not nn.Dropout


def test_to_prepare_twice_changes_nothing_more():
    model = Mlp().eval()
    mindiesd.prepare(model)
    report = mindiesd.prepare(model)
    assert not report.changes
    assert report.why("drop") == ["an earlier step has changed it"]
    mindiesd.restore(model)
    assert type(model.drop) is nn.Dropout
    mindiesd.restore(model)


def test_a_module_that_has_become_another_since_cannot_be_restored():
    model = Mlp().eval()
    mindiesd.prepare(model)

    class Sharded(type(model.alpha)):
        pass

    model.alpha.__class__ = Sharded
    with pytest.raises(ParametersInvalid, match="alpha must be a PassingAlphaDropout, as prepare left it"):
        mindiesd.restore(model)
    assert type(model.drop) is not nn.Dropout
    model.alpha.__class__ = Sharded.__mro__[1]
    mindiesd.restore(model)
    assert type(model.drop) is nn.Dropout and type(model.alpha) is nn.AlphaDropout


def test_a_step_that_fails_is_taken_back(monkeypatch):
    model, x = Mlp().eval(), torch.randn(3, 8)
    expected = model(x)
    monkeypatch.setitem(STEPS, "kept", STEPS["remove-dropout"])
    monkeypatch.setitem(STEPS, "remove-dropout", Broken())
    report = mindiesd.prepare(model, x, steps=["remove-dropout"])
    assert type(model.drop) is nn.Dropout and not report.changes
    assert report.why("") == ["taken back: ValueError: no more"]
    assert torch.equal(model(x), expected)


@pytest.mark.parametrize(("tolerance", "stays"), [(None, False), (0.4, False), (1.5, True)])
def test_a_step_beyond_its_tolerance_is_taken_back(monkeypatch, tolerance, stays):
    model, x = Mlp().eval(), torch.randn(3, 8)
    expected = model(x)
    monkeypatch.setitem(STEPS, "remove-dropout", Wrong())
    report = mindiesd.prepare(model, x, steps=["remove-dropout"], tolerance=tolerance)
    assert bool(report.changes) == stays
    assert 0.4 < report.errors["remove-dropout"] < 1.5
    assert stays or report.why("")[0].startswith("taken back: results differ by")
    assert stays or (type(model.second) is nn.Linear and torch.equal(model(x), expected))
    assert "remove-dropout" in str(report) and "of at most" in str(report)


@pytest.mark.parametrize(
    ("speed", "dtype", "cuda", "most"),
    [
        ("exact", torch.float32, True, 0),
        ("close", torch.float32, False, 2e-5),
        ("close", torch.float32, True, 5e-3),
        ("close", torch.bfloat16, True, 2.0**-5),
        ("fast", torch.float32, False, 5e-3),
    ],
)
def test_tolerances(speed, dtype, cuda, most):
    """cuDNN computes convolutions of float32 by TF32, as torch sets it."""
    assert torch.backends.cudnn.allow_tf32
    assert allowed(speed, dtype, cuda=cuda) == most


def test_a_model_in_training_mode_stays():
    model = Mlp().eval()
    model.drop.train()
    report = mindiesd.prepare(model, torch.randn(2, 8))
    assert not report.changes
    assert report.why("") == ["drop is in training mode; call model.eval() first"]


def test_a_compiled_model_stays():
    model = Mlp().eval()
    report = mindiesd.prepare(torch.compile(model, backend="eager"))
    assert not report.changes and "compiled already" in report.why("")[0]


def test_a_scripted_model_stays():
    report = mindiesd.prepare(torch.jit.trace(Mlp().eval(), torch.randn(2, 8)))
    assert not report.changes and "TorchScript" in report.why("")[0]


@pytest.mark.parametrize("full", [True, False])
def test_a_prepared_model_compiles(full):
    model, x = Mlp().eval(), torch.randn(3, 8)
    expected = model(x)
    mindiesd.prepare(model, x)
    torch.testing.assert_close(torch.compile(model, backend="eager", fullgraph=full)(x), expected)


class Counting(nn.Module):
    """Writes to a buffer in each call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))
        self.drop = nn.Dropout()

    def forward(self, x):
        self.count += 1
        return self.drop(x) + self.count


def test_a_model_that_writes_its_buffers_keeps_them_and_is_not_compared():
    model = Counting().eval()
    report = mindiesd.prepare(model, torch.zeros(2))
    assert model.count == 0
    assert "writes to its buffers" in report.notes[0] and "note: " in str(report)
    assert not report.errors and report.count("remove-dropout") == 1


def test_a_model_that_returns_no_tensors_is_not_compared():
    class Printing(nn.Sequential):
        def forward(self, x):
            yield super().forward(x)

    report = mindiesd.prepare(Printing(nn.Dropout()).eval(), torch.ones(2))
    assert report.notes == ["nothing is compared or watched: the model returns no tensors"] and not report.errors


class Unsteady(nn.Module):
    """Gives another result each time."""

    def __init__(self):
        super().__init__()
        self.drop, self.times = nn.Dropout(), 0

    def forward(self, x):
        self.times += 1
        return self.drop(x) + self.times


def test_a_model_whose_results_change_is_left_alone():
    report = mindiesd.prepare(Unsteady().eval(), torch.ones(2))
    assert not report.changes
    assert report.why("")[0].startswith("two runs of the model on the same inputs differ by 0.5")


def test_the_inputs_and_the_random_state_stay_as_they_were():
    class Writes(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout()

        def forward(self, x):
            return self.drop(x.add_(1)) + torch.rand(2)

    x, state = torch.zeros(2), torch.get_rng_state()
    report = mindiesd.prepare(Writes().eval(), x)
    assert report.count("remove-dropout") == 1 and report.errors["remove-dropout"] == 0
    assert torch.equal(x, torch.zeros(2)) and torch.equal(torch.get_rng_state(), state)


def test_a_model_that_replaces_its_buffers_keeps_them_and_is_not_compared():
    class Stream(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.register_buffer("last", torch.zeros(1, 4))

        def forward(self, x):
            self.last = self.last + x
            return self.linear(self.last)

    model = Stream().eval()
    buffer = model.last
    report = mindiesd.prepare(model, torch.ones(1, 4), speed="close")
    assert "writes to its buffers" in report.notes[0]
    assert model.last is buffer and torch.equal(buffer, torch.zeros(1, 4))


def test_sparse_results_are_compared():
    class Sparse(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x):
            return self.linear(x).to_sparse()

    report = mindiesd.prepare(Sparse().eval(), torch.ones(2, 4), steps=["linear-pairs", "remove-dropout"])
    assert not report.changes and not report.notes
