"""``int8-linear``: which linears compute few rows by int8 weights, what more rows and gradients see, and what undoes it."""

import copy
import io

import mindiesd
import pytest
import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self, width=512, hidden=640):
        super().__init__()
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width, bias=False)
        self.small = nn.Linear(width, 16)

    def forward(self, x):
        return self.small(x + self.down(torch.nn.functional.silu(self.up(x))))


def prepared(model=None, rows=(1, 3), **options):
    torch.manual_seed(0)
    model = (Decoder() if model is None else model).eval()
    examples = [torch.randn(1, count, 512) for count in rows]
    return model, mindiesd.prepare(model, examples, steps=["int8-linear"], **options)


@pytest.fixture(autouse=True)
def without_gradients():
    with torch.no_grad():
        yield


def test_few_rows_alone():
    plain = Decoder().eval()
    model, report = prepared(copy.deepcopy(plain))
    assert {entry.where for entry in report.changes} == {"up", "down"}
    assert "too small" in report.why("small")[0]
    assert 0 < report.errors["int8-linear"] < report.tolerances["int8-linear"] == 0.05
    few, many = torch.randn(1, 16, 512), torch.randn(1, 17, 512)
    assert torch.equal(model(many), plain(many))
    assert not torch.equal(model(few), plain(few))
    assert torch.allclose(model(few), plain(few), atol=0.03)
    assert model.state_dict().keys() == plain.state_dict().keys()
    report.restore()
    assert torch.equal(model(few), plain(few)) and type(model.up) is nn.Linear


def test_it_is_part_of_the_fastest_profile_alone():
    model = Decoder().eval()
    for speed, changed in (("exact", 0), ("close", 0), ("fast", 2)):
        report = mindiesd.prepare(model, torch.randn(1, 2, 512), speed=speed)
        assert report.count("int8-linear") == changed
        mindiesd.restore(model)


def test_examples_of_many_rows_alone_change_nothing():
    _, report = prepared(rows=(17, 40))
    assert not report.changes and "16 rows or fewer" in report.why("up")[0]


def test_a_result_beyond_the_tolerance_is_taken_back():
    model, report = prepared(tolerance=1e-6)
    assert not report.changes and type(model.up) is nn.Linear
    assert any("taken back" in entry.text for entry in report.left)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_weight_that_is_not_finite_stays(value):
    model = Decoder()
    model.up.weight[3, 5] = value
    _, report = prepared(model)
    assert "not finite" in report.why("up")[0]


def test_changed_weights_count_at_once():
    model, _ = prepared()
    x = torch.randn(1, 2, 512)
    model(x)
    model.up.weight.mul_(2)
    again = Decoder().eval()
    again.load_state_dict(model.state_dict())
    assert torch.allclose(model(x), again(x), atol=0.06)
    model.up.weight[0, 0] = float("inf")
    assert torch.equal(model.up(x), nn.functional.linear(x, model.up.weight, model.up.bias))
    other = Decoder().eval()
    model.load_state_dict(other.state_dict())
    assert torch.allclose(model(x), other(x), atol=0.03)


def test_gradients_and_autocast_see_the_layer_itself():
    model, _ = prepared()
    x = torch.randn(2, 512)
    with torch.enable_grad():
        result = model.up(x)
        assert torch.equal(result, nn.functional.linear(x, model.up.weight, model.up.bias))
        result.sum().backward()
    assert model.up.weight.grad is not None
    with torch.autocast("cpu", torch.bfloat16):
        assert model.up(x).dtype == torch.bfloat16


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_other_types_follow(dtype):
    model, _ = prepared()
    plain = Decoder().eval()
    plain.load_state_dict(model.state_dict())
    model, plain = model.to(dtype), plain.to(dtype)
    x = torch.randn(1, 4, 512, dtype=dtype)
    assert torch.allclose(model(x).float(), plain(x).float(), atol=0.05)
    assert model.double()(x.double()).dtype == torch.float64


def test_copies_and_pickles():
    model, _ = prepared()
    x = torch.randn(1, 2, 512)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    for other in (copy.deepcopy(model), torch.load(file, weights_only=False)):
        assert torch.equal(other(x), model(x))
        mindiesd.restore(other)
        assert type(other.up) is nn.Linear


def test_empty_inputs_and_single_rows():
    model, _ = prepared()
    assert model.up(torch.randn(0, 512)).shape == (0, 640)
    assert torch.allclose(model.up(torch.ones(512)), model.up(torch.ones(1, 512))[0], atol=1e-5)
    with pytest.raises(RuntimeError):
        model.up(torch.randn(2, 511))


def test_torch_compile_sees_the_layer_itself():
    model, _ = prepared()
    x = torch.randn(2, 512)
    expected = nn.functional.linear(x, model.up.weight, model.up.bias)
    torch.testing.assert_close(torch.compile(model.up, backend="eager")(x), expected)


def test_training_mode_computes_as_it_did():
    plain = Decoder()
    model, _ = prepared(copy.deepcopy(plain))
    few = torch.randn(1, 4, 512)
    assert torch.equal(model.train()(few), plain(few))
    assert not torch.equal(model.eval()(few), plain(few))


@pytest.mark.parametrize("how", ["eval", "to"])
def test_values_written_through_data_count_after_a_change_of_mode_or_type(how):
    model, report = prepared()
    few = torch.randn(1, 4, 512)
    model(few)
    model.up.weight.data.mul_(3)
    model = model.eval() if how == "eval" else model.to(torch.float32)
    got = model(few)
    report.restore()
    assert torch.allclose(got, model(few), atol=0.1) and not torch.equal(got, model(few))


def test_memory_that_is_used_again_is_seen():
    model, _ = prepared()
    few = torch.randn(1, 4, 512)
    for _ in range(20):
        model(few)
        for _ in range(2):  # the second gets the memory that the first left, unless somebody keeps it
            model.down.weight.data = model.down.weight.data * -1.1
        restored = copy.deepcopy(model)
        mindiesd.restore(restored)
        expected = restored(few)
        assert (model(few) - expected).abs().max() < 0.05 * expected.abs().max()
