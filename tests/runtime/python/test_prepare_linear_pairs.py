"""Two linears in a row multiplied out."""

import copy

import pytest
import torch
from torch import nn

import mindiesd


def close(result, expected):
    torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("second", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_two_linears(first, second):
    model = nn.Sequential(nn.Linear(8, 32, bias=first), nn.Linear(32, 6, bias=second), nn.ReLU()).eval()
    x = torch.randn(2, 5, 8)
    expected, inner, keys = model(x), model[0](x), list(model.state_dict())
    report = mindiesd.prepare(model, x, speed="fast")
    assert report.count("linear-pairs") == 1 and report.tolerances["linear-pairs"] == 5e-3
    close(model(x), expected)
    assert not torch.equal(model(x), expected) and torch.equal(model[0](x), inner)
    assert list(model.state_dict()) == keys
    model[0].weight.mul_(2)
    reference = copy.deepcopy(model)
    mindiesd.restore(reference)
    assert type(reference) is nn.Sequential
    close(model(x), reference(x))
    close(model(x[0, 0]), reference(x[0, 0]))
    close(model.double()(x.double()), reference.double()(x.double()))


def test_of_three_the_first_two():
    model = nn.Sequential(nn.Linear(8, 32), nn.Linear(32, 8), nn.Linear(8, 4)).eval()
    x = torch.randn(3, 8)
    expected = model(x)
    report = mindiesd.prepare(model, x, steps=["linear-pairs"])
    assert [entry.text for entry in report.changes] == ["computes 0 with 1 as one"]
    close(model(x), expected)


def test_beside_a_norm_that_is_folded():
    model = nn.Sequential(
        nn.Linear(8, 32), nn.Linear(32, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 32), nn.Linear(32, 4)
    ).eval()
    model[2].running_mean.normal_()
    x = torch.randn(3, 8)
    expected = model(x)
    report = mindiesd.prepare(model, x, speed="fast")
    assert [entry.text for entry in report.changes] == ["computes 1 with 2 as one", "computes 4 with 5 as one"]
    close(model(x), expected)
    close(torch.compile(model, backend="eager", fullgraph=True)(x), expected)
    report.restore()
    assert type(model) is nn.Sequential and torch.equal(model(x), expected)


@pytest.mark.parametrize(
    ("layers", "text"),
    [
        ([nn.Linear(8, 2), nn.Linear(2, 8)], "no fewer elements"),
        ([nn.Linear(8, 32), nn.Linear(31, 8)], "takes 31 features, but what is before it gives 32"),
        ([nn.Linear(8, 32), nn.Linear(32, 8).double()], "different types or devices"),
    ],
)
def test_pairs_that_are_none(layers, text):
    report = mindiesd.prepare(nn.Sequential(*layers).eval(), steps=["linear-pairs"])
    assert not report.changes and text in report.why("1")[0]


def test_what_is_between_keeps_them_apart():
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8)).eval()
    assert not mindiesd.prepare(model, steps=["linear-pairs"]).changes


def test_gradients_and_hooks_need_both():
    model = nn.Sequential(nn.Linear(8, 32), nn.Linear(32, 6)).eval()
    reference, x = copy.deepcopy(model), torch.randn(3, 8)
    mindiesd.prepare(model, x, speed="fast")
    with torch.enable_grad():
        for one in (model, reference):
            one(x).sum().backward()
    assert all(torch.equal(p.grad, q.grad) for p, q in zip(model.parameters(), reference.parameters(), strict=True))
    seen = []
    model[0].register_forward_hook(lambda *call: seen.append(call))
    assert torch.equal(model(x), reference(x)) and len(seen) == 1
