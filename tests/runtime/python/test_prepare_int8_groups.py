"""Linears of one input that compute few rows by one int8 weight: what they compute, and what changes afterwards do."""

import copy
import io
import threading

import pytest
import torch
from torch import nn

import mindiesd
from mindiesd.prepare.int8_rows import FewRowsLinear
from mindiesd.prepare.linears import MergedFewRowsLinear, MergedLinear

STEPS = ["int8-linear", "merge-linears"]
NAMES = ("q", "k", "v")


class Attention(nn.Module):
    def __init__(self, width=512, bias=True):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, 640 if name == "q" else 512, bias=bias) for name in NAMES)

    def forward(self, x):
        return torch.cat([self.q(x), self.k(x), self.v(x)], -1)


class Between(Attention):
    """Something happens between the calls of the linears."""

    action = staticmethod(lambda model: None)

    def forward(self, x):
        q = self.q(x)
        self.action(self)
        return torch.cat([q, self.k(x), self.v(x)], -1)


@pytest.fixture(autouse=True)
def without_gradients():
    with torch.no_grad():
        yield


def prepared(model=None, rows=(1, 3), **options):
    torch.manual_seed(0)
    model = (Attention() if model is None else model).eval()
    report = mindiesd.prepare(model, [torch.randn(1, count, 512) for count in rows], steps=STEPS, **options)
    assert all(type(getattr(model, name)) is MergedFewRowsLinear for name in NAMES), str(report)
    return model, report


def alone(model):
    """The same model with an int8 weight of each linear's own, and one as it was."""
    other, plain = copy.deepcopy(model), copy.deepcopy(model)
    mindiesd.restore(other)
    mindiesd.restore(plain)
    report = mindiesd.prepare(other, torch.randn(1, 1, 512, dtype=model.q.weight.dtype), steps=["int8-linear"])
    assert report.count("int8-linear") == 3
    return other, plain


def agrees(model, x, *, few=True):
    own, plain = alone(model)
    expected = own(x) if few else plain(x)
    torch.testing.assert_close(model(x), expected, rtol=0, atol=1e-5 * expected.abs().max().item())
    assert few != torch.equal(own(x), plain(x))


def products(model, x, monkeypatch):
    """The rows of the int8 weights by which a call computes."""
    rows = []
    from mindiesd.prepare import int8_rows, linears

    for module in (int8_rows, linears):
        real = mindiesd.ext.int8.int8_linear
        monkeypatch.setattr(module, "int8_linear", lambda x, w, s, b: (rows.append(len(w)), real(x, w, s, b))[1])
    model(x)
    monkeypatch.undo()
    return rows


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_one_product_of_few_rows(dtype, bias, monkeypatch):
    model = Attention(bias=bias).eval().to(dtype)
    plain = copy.deepcopy(model)
    report = mindiesd.prepare(model, torch.randn(1, 2, 512, dtype=dtype), steps=STEPS)
    assert report.count("int8-linear") == 3 and report.count("merge-linears") == 1
    few, many = torch.randn(1, 16, 512, dtype=dtype), torch.randn(1, 17, 512, dtype=dtype)
    assert products(model, few, monkeypatch) == [640 + 512 + 512]
    assert products(model, many, monkeypatch) == []
    own, _ = alone(model)
    assert torch.equal(model(few), own(few))
    torch.testing.assert_close(model(many), plain(many), rtol=0, atol=1e-2 if dtype != torch.float32 else 1e-5)
    assert list(model.state_dict()) == list(plain.state_dict())
    report.restore()
    assert torch.equal(model(few), plain(few)) and type(model.q) is nn.Linear


def test_the_fastest_profile_on_the_cpu_leaves_them_apart():
    model = Attention().eval()
    report = mindiesd.prepare(model, torch.randn(1, 2, 512), speed="fast")
    assert type(model.q) is FewRowsLinear and "on the CPU" in report.why("q")[0]


def test_a_small_linear_computes_beside_the_others(monkeypatch):
    model = Attention()
    model.v = nn.Linear(512, 64)
    report = mindiesd.prepare(model.eval(), torch.randn(1, 2, 512), steps=STEPS)
    assert type(model.v) is nn.Linear and "too small" in report.why("v")[0]
    assert products(model, torch.randn(1, 2, 512), monkeypatch) == [640 + 512]


def test_plain_and_int8_linears_are_groups_of_their_own():
    model = Attention()
    model.v, model.w = nn.Linear(512, 64), nn.Linear(512, 64)
    model.forward = lambda x: torch.cat([getattr(model, name)(x) for name in "qkvw"], -1)
    mindiesd.prepare(model.eval(), torch.randn(1, 2, 512), steps=STEPS)
    assert model.q._mindiesd_group is model.k._mindiesd_group is not model.v._mindiesd_group
    assert type(model.v) is type(model.w) is MergedLinear


def test_no_second_int8_weight_is_kept():
    model, _ = prepared()
    model(torch.randn(1, 2, 512))
    assert all(getattr(model, name)._mindiesd_int8.kept is None for name in NAMES)


def in_place(model):
    model.k.weight.mul_(-2)


def by_loading(model):
    other = Attention().eval()
    model.load_state_dict(other.state_dict())


def by_assignment(model):
    model.load_state_dict(Attention().state_dict(), assign=True)


def data_replaced(model):
    model.k.weight.data = model.k.weight.data * -2


def data_written(model):
    model.k.weight.data.mul_(-2)
    model.eval()


def parameter_replaced(model):
    model.k.weight = nn.Parameter(torch.randn(512, 512) / 20)


def bias_written(model):
    model.v.bias.add_(1)


def to_double_and_back(model):
    model.double().float()


def to_half(model):
    model.half().float()


def trained(model):
    model.train()
    model.q.weight.mul_(3)
    model.eval()


CHANGES = [in_place, by_loading, by_assignment, data_replaced, data_written, parameter_replaced, bias_written,
           to_double_and_back, to_half, trained]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_changed_weights_count(change):
    model, report = prepared()
    x = torch.randn(1, 4, 512)
    model(x)
    change(model)
    agrees(model, x)
    agrees(model, x.expand(1, 4, 512).repeat(5, 1, 1), few=False)
    state = copy.deepcopy(model.state_dict())
    report.restore()
    other = Attention().eval()
    other.load_state_dict(state)
    assert torch.equal(model(x), other(x))


@pytest.mark.parametrize("change", [in_place, by_loading, data_replaced, parameter_replaced, bias_written])
def test_a_change_between_the_calls_counts(change):
    model, _ = prepared(Between())
    x = torch.randn(1, 4, 512)
    expected, _ = alone(model)
    for each in (model, expected):
        each.action = change
        torch.manual_seed(1)
        each.result = each(x)
    torch.testing.assert_close(model.result, expected.result, rtol=0, atol=1e-4)


def test_a_linear_in_training_computes_as_it_did():
    model, _ = prepared()
    x = torch.randn(1, 4, 512)
    _, plain = alone(model)
    model.k.train()
    assert torch.equal(model.k(x), plain.k(x)) and not torch.equal(model.q(x), plain.q(x))
    model.q(x)
    assert torch.equal(model.k(x), plain.k(x))
    model.eval()
    model.q(x)
    model.k.train()  # after the first has left a result for it
    assert torch.equal(model.k(x), plain.k(x))
    assert torch.equal(model.train()(x), plain(x))


def test_a_weight_that_is_not_finite_has_each_compute_by_itself():
    model, _ = prepared()
    x = torch.randn(1, 4, 512)
    _, plain = alone(model)
    model.k.weight[0, 0] = plain.k.weight[0, 0] = float("inf")
    assert torch.equal(model.k(x), plain.k(x))
    torch.testing.assert_close(model.q(x), plain.q(x), rtol=0, atol=0.05)
    model.k.weight[0, 0] = 0
    agrees(model, x)


def test_copies_and_pickles_have_weights_of_their_own():
    model, _ = prepared()
    x = torch.randn(1, 4, 512)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    for other in (copy.deepcopy(model), torch.load(file, weights_only=False)):
        assert torch.equal(other(x), model(x))
        other.k.weight.mul_(2)
        agrees(other, x)
        agrees(model, x)
        mindiesd.restore(other)
        assert type(other.q) is nn.Linear and len(list(other.q.parameters())) == 2


def test_gradients_autocast_and_compile_see_the_linears():
    model, _ = prepared()
    x = torch.randn(2, 512)
    _, plain = alone(model)
    with torch.enable_grad():
        result = model(x)
        assert torch.equal(result, plain(x))
        result.sum().backward()
    assert model.k.weight.grad is not None
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(model(x), plain(x))
    torch.testing.assert_close(torch.compile(model, backend="eager")(x), plain(x))


def test_hooks_added_later_see_what_the_linears_compute():
    model, _ = prepared()
    x, seen = torch.randn(1, 4, 512), []
    model.k.register_forward_hook(lambda module, args, result: seen.append((args[0] is x, result)))
    result = model(x)
    assert seen[0][0] and torch.equal(seen[0][1], result[..., 640:1152])


def test_threads_compute_what_one_does():
    model, _ = prepared()
    inputs = [torch.randn(1, 4, 512) for _ in range(16)]
    expected, found = [model(x) for x in inputs], [None] * len(inputs)
    model.eval()  # the int8 weights are made anew, by whichever thread comes first

    def work(start):
        with torch.no_grad():
            for _ in range(10):
                for at in range(start, len(inputs), 4):
                    found[at] = model(inputs[at])

    threads = [threading.Thread(target=work, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.equal(*pair) for pair in zip(found, expected, strict=True))


def test_a_graph_learns_that_the_int8_weight_is_out_of_date():
    model, _ = prepared()
    group = model.q._mindiesd_group
    model(torch.randn(1, 4, 512))
    assert not group.int8._mindiesd_stale()
    model.v.weight.mul_(2)
    assert group.int8._mindiesd_stale()
    model(torch.randn(1, 4, 512))
    assert not group.int8._mindiesd_stale()


def test_a_step_beyond_its_tolerance_leaves_the_int8_linears():
    model = Attention().eval()
    x = torch.randn(1, 4, 512)
    mindiesd.prepare(model, x, steps=["int8-linear"])
    before, kinds = model(x), [type(module) for module in model.modules()]

    def forward(x):  # fails where results are slices with gaps
        return torch.cat([getattr(model, name)(x).view(-1) for name in NAMES])

    model.forward = forward
    report = mindiesd.prepare(model, x, steps=["merge-linears"])
    assert any("taken back" in entry.text for entry in report.left)
    del model.forward
    assert [type(module) for module in model.modules()] == kinds and torch.equal(model(x), before)
