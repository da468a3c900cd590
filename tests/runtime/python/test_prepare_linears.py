"""Linears of one input merged: which, what may change afterwards, and where each computes by itself."""

import copy
import io
import threading

import pytest
import torch
from torch import nn
from torch.func import functional_call, vmap

import mindiesd
from mindiesd.prepare.linears import MergedLinear


class Attention(nn.Module):
    """Self-attention with fewer heads of keys and values, as Llama's."""

    def __init__(self, width=32, heads=4, kv_heads=2, bias=False):
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, width // heads
        self.q_proj = nn.Linear(width, heads * self.size, bias=bias)
        self.k_proj = nn.Linear(width, kv_heads * self.size, bias=bias)
        self.v_proj = nn.Linear(width, kv_heads * self.size, bias=bias)
        self.o_proj = nn.Linear(width, width, bias=bias)

    def forward(self, x):
        batch, length, _ = x.shape
        q = self.q_proj(x).view(batch, length, self.heads, self.size).transpose(1, 2)
        k = self.k_proj(x).view(batch, length, self.kv_heads, self.size).transpose(1, 2)
        v = self.v_proj(x).view(batch, length, self.kv_heads, self.size).transpose(1, 2)
        k, v = (t.repeat_interleave(self.heads // self.kv_heads, dim=1) for t in (k, v))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(batch, length, -1))


class Layer(nn.Module):
    def __init__(self, width=32, bias=False):
        super().__init__()
        self.norm1, self.attention, self.norm2 = nn.LayerNorm(width), Attention(width, bias=bias), nn.LayerNorm(width)
        self.gate_proj, self.up_proj = (nn.Linear(width, 3 * width, bias=bias) for _ in range(2))
        self.down_proj = nn.Linear(3 * width, width, bias=bias)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        y = self.norm2(x)
        return x + self.down_proj(nn.functional.silu(self.gate_proj(y)) * self.up_proj(y))


class Decoder(nn.Module):
    """A decoder in the manner of Llama."""

    def __init__(self, layers=2, width=32, bias=False):
        super().__init__()
        self.embed = nn.Embedding(50, width)
        self.layers = nn.ModuleList(Layer(width, bias) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 50, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


IDS = torch.randint(0, 50, (2, 7))


def merged(model):
    return sorted(name for name, module in model.named_modules() if isinstance(module, MergedLinear))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_a_decoder(dtype, bias):
    model = Decoder(bias=bias).eval().to(dtype)
    expected, parameters = model(IDS), list(model.parameters())
    values = {key: value.clone() for key, value in model.state_dict().items()}
    report = mindiesd.prepare(model, IDS, steps=["merge-linears"])
    assert merged(model) == [
        f"layers.{n}.{name}" for n in range(2)
        for name in ("attention.k_proj", "attention.q_proj", "attention.v_proj", "gate_proj", "up_proj")
    ]  # fmt: skip
    texts = [entry.text for entry in report.changes]
    assert texts == ["computes k_proj, v_proj as well", "computes up_proj as well"] * 2
    difference = (model(IDS).double() - expected.double()).abs().max() / expected.double().abs().max()
    assert difference <= report.tolerances["merge-linears"]
    state = model.state_dict()
    assert list(state) == list(values) and all(torch.equal(state[key], values[key]) for key in values)
    assert all(p is q for p, q in zip(parameters, model.parameters(), strict=True))
    report.restore()
    assert not merged(model) and torch.equal(model(IDS), expected)
    assert all(p.untyped_storage().nbytes() == p.nbytes for p in model.parameters())


def calls_of_linear(model, *args):
    count = []

    class Count(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            count.append(func is nn.functional.linear)
            return func(*args, **(kwargs or {}))

    with Count():
        model(*args)
    return sum(count)


def test_one_product_instead_of_three():
    model = Attention().eval()
    x = torch.randn(2, 5, 32)
    assert calls_of_linear(model, x) == 4
    mindiesd.prepare(model, x, steps=["merge-linears"])
    assert calls_of_linear(model, x) == 2
    assert calls_of_linear(model.q_proj, x) == 1
    assert calls_of_linear(model.k_proj, torch.randn(2, 5, 32)) == 1


def prepared():
    model = Decoder(bias=True).eval()
    reference = copy.deepcopy(model)
    mindiesd.prepare(model, IDS, steps=["merge-linears"])
    return model, reference


def close(result, expected):
    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-5)


def is_used(model):
    return calls_of_linear(model, IDS) == 2 * 4 + 1


@pytest.mark.parametrize("how", ["copy", "assign", "data", "in place", "optimizer"])
def test_new_weights_count(how):
    model, reference = prepared()
    values = {key: torch.randn_like(value) for key, value in model.state_dict().items()}
    for one in (model, reference):
        if how == "optimizer":
            for p in one.parameters():
                p.grad = torch.ones_like(p)
            torch.optim.SGD(one.parameters(), lr=0.1).step()
        elif how == "in place":
            one.layers[0].gate_proj.weight.mul_(2)
            one.layers[1].attention.k_proj.bias.data.add_(1)
        elif how == "data":
            one.layers[0].gate_proj.weight.data = values["layers.0.gate_proj.weight"]
        else:
            one.load_state_dict(copy.deepcopy(values), assign=how == "assign")
            one.head.weight = one.embed.weight
    close(model(IDS), reference(IDS))
    assert is_used(model) == (how != "data")
    mindiesd.restore(model)
    assert torch.equal(model(IDS), reference(IDS))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_a_move_to_another_type(dtype):
    model, reference = prepared()
    model.to(dtype)
    reference.to(dtype)
    tolerance = 8 * torch.finfo(dtype).eps * reference(IDS).abs().max().item()
    torch.testing.assert_close(model(IDS), reference(IDS), rtol=0, atol=tolerance)
    assert is_used(model)


def test_copies_and_pickles():
    model, reference = prepared()
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    for other in (copy.deepcopy(model), torch.load(file, weights_only=False)):
        assert torch.equal(other(IDS), model(IDS)) and is_used(other)
        other.layers[0].up_proj.weight.zero_()
        close(model(IDS), reference(IDS))
        assert not torch.equal(other(IDS), model(IDS))
        mindiesd.restore(other)
        assert not merged(other)
    state = io.BytesIO()
    torch.save(model.state_dict(), state)
    state.seek(0)
    again = Decoder(bias=True).eval()
    again.load_state_dict(torch.load(state))
    assert torch.equal(again(IDS), reference(IDS))


def test_gradients_are_those_of_the_linears():
    model, reference = prepared()
    with torch.enable_grad():
        for one in (model, reference):
            one(IDS).square().sum().backward()
    for p, q in zip(model.parameters(), reference.parameters(), strict=True):
        assert torch.equal(p.grad, q.grad)


def test_gradients_of_the_input_alone():
    model, reference = Attention().eval().requires_grad_(False), None
    reference = copy.deepcopy(model)
    x = torch.randn(2, 5, 32)
    mindiesd.prepare(model, x, steps=["merge-linears"])
    gradients = []
    with torch.enable_grad():
        for one in (model, reference):
            given = x.clone().requires_grad_()
            one(given).sum().backward()
            gradients.append(given.grad)
    assert torch.equal(*gradients)


def test_each_result_is_taken_once_and_changed_alone():
    model = Attention(bias=True).eval()
    reference, x = copy.deepcopy(model), torch.randn(2, 5, 32)
    mindiesd.prepare(model, x, steps=["merge-linears"])
    q, k = model.q_proj(x), model.k_proj(x)
    q.zero_()
    k.fill_(7)
    close(model.v_proj(x), reference.v_proj(x))
    assert (q == 0).all() and (k == 7).all() and q._version == 1 and not q._is_view()
    assert not x.__dict__, "nothing is left at the input"
    close(model.k_proj(x), reference.k_proj(x))
    with torch.enable_grad():
        q.add_(torch.ones(1, requires_grad=True))


def test_an_input_that_is_changed_between_the_calls():
    model = Attention().eval()
    reference, x = copy.deepcopy(model), torch.randn(2, 5, 32)
    mindiesd.prepare(model, x, steps=["merge-linears"])
    model.q_proj(x)
    x.mul_(2)
    assert torch.equal(model.k_proj(x), reference.k_proj(x))
    assert torch.equal(model.v_proj(x), reference.v_proj(x))


def test_weights_that_are_changed_between_the_calls():
    model = Attention().eval()
    x = torch.randn(2, 5, 32)
    mindiesd.prepare(model, x, steps=["merge-linears"])
    model.q_proj(x)
    model.k_proj.weight.zero_()
    assert (model.k_proj(x) == 0).all()


def test_inputs_of_other_shapes_than_the_examples():
    """Where the examples had one token, what is done to results might need them without gaps."""
    model = Attention().eval()
    reference = copy.deepcopy(model)
    mindiesd.prepare(model, torch.randn(2, 1, 32), steps=["merge-linears"])
    assert merged(model) and model.q_proj(torch.randn(2, 1, 32)).dim() == 3
    for shape in ((2, 5, 32), (1, 5, 32), (0, 5, 32), (5, 32), (32,)):
        x = torch.randn(shape)
        result = model.q_proj(x)
        assert result.is_contiguous() and torch.equal(result, reference.q_proj(x))
    with pytest.raises(RuntimeError):
        model.q_proj(torch.randn(2, 1, 31))
    with pytest.raises(RuntimeError):
        model.q_proj(torch.randn(2, 1, 32).double())


class Branches(nn.Module):
    def __init__(self, call, second=None):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), second or nn.Linear(8, 8)
        self.call = call

    def forward(self, x):
        return self.call(self, x)


def by_columns():
    linear = nn.Linear(8, 8)
    linear.weight = nn.Parameter(torch.randn(8, 8).t())
    return linear


OTHERS = {
    "another input": Branches(lambda m, x: m.a(x) + m.b(x + 0)),
    "a changed input": Branches(lambda m, x: m.a(x) + m.b(x.mul_(2))),
    "an input changed unseen": Branches(lambda m, x: m.a(x) + m.b(mindiesd.ext.gelu(x, out=x))),
    "one lies by columns": Branches(lambda m, x: m.a(x) + m.b(x), by_columns()),
    "in a row": Branches(lambda m, x: m.b(m.a(x))),
    "one twice": Branches(lambda m, x: m.a(x) + m.b(x) + m.a(x)),
    "in turn": Branches(lambda m, x: m.a(x) + m.b(x) + m.b(-x) + m.a(-x)),
    "by keyword": Branches(lambda m, x: m.a(x) + m.b(input=x)),
    "one has no bias": Branches(lambda m, x: m.a(x) + m.b(x), nn.Linear(8, 8, bias=False)),
    "a view that slices refuse": Branches(lambda m, x: (m.a(x) + m.b(x)) * m.a.weight.sum() + m.b(x + 1)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_linears_that_do_not_belong_together(name):
    model, x = OTHERS[name].eval(), torch.randn(3, 8)
    expected = model(x.clone())
    report = mindiesd.prepare(model, x, steps=["merge-linears"])
    assert not merged(model) and not report.changes
    assert torch.equal(model(x), expected)


def test_a_use_that_needs_results_without_gaps_is_taken_back():
    model = Branches(lambda m, x: m.a(x).view(-1) + m.b(x).view(-1)).eval()
    x = torch.randn(3, 8)
    expected = model(x)
    report = mindiesd.prepare(model, x, steps=["merge-linears"])
    assert not merged(model) and report.why("")[0].startswith("taken back: RuntimeError: view size")
    assert torch.equal(model(x), expected)


def test_on_the_cpu_the_step_must_be_named():
    model = Decoder().eval()
    report = mindiesd.prepare(model, IDS, speed="close")
    assert not merged(model) and "a step that is named does it" in report.why("layers.0.up_proj")[0]


def test_without_examples_nothing_is_merged():
    report = mindiesd.prepare(Decoder().eval(), steps=["merge-linears"])
    assert "give example_inputs" in report.why("")[0]


def test_functional_calls():
    model, reference = prepared()
    values = {key: value * 1.5 for key, value in reference.named_parameters()}
    assert torch.equal(functional_call(model, values, IDS), functional_call(reference, values, IDS))
    stacked = {key: torch.stack([value, value * 2]) for key, value in values.items()}
    results = [vmap(lambda v, one=one: functional_call(one, v, IDS))(stacked) for one in (model, reference)]
    close(*results)
    attention, x = model.layers[0].attention, torch.randn(3, 2, 7, 32)
    close(vmap(attention)(x), vmap(reference.layers[0].attention)(x))


def test_inference_mode_autocast_and_compiled():
    model, reference = prepared()
    with torch.inference_mode():
        close(model(IDS), reference(IDS))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(model(IDS), reference(IDS))
    close(torch.compile(model, backend="eager", fullgraph=True)(IDS), reference(IDS))
    close(torch.export.export(model, (IDS,)).module()(IDS), reference(IDS))
    torch.testing.assert_close(torch.fx.symbolic_trace(model.layers[0].attention.q_proj)(torch.ones(32)),
                               reference.layers[0].attention.q_proj(torch.ones(32)))  # fmt: skip


def test_forward_derivatives_and_nested_inputs():
    model = Attention().eval().requires_grad_(False)
    reference, x = copy.deepcopy(model), torch.randn(2, 5, 32)
    mindiesd.prepare(model, x, steps=["merge-linears"])
    tangents = []
    with torch.autograd.forward_ad.dual_level():
        for one in (model, reference):
            dual = torch.autograd.forward_ad.make_dual(x.clone(), torch.ones_like(x))
            results = one.q_proj(dual), one.k_proj(dual), one.v_proj(dual)
            tangents.append([torch.autograd.forward_ad.unpack_dual(result).tangent for result in results])
    for tangent, expected in zip(*tangents, strict=True):
        close(tangent, expected)
    nested = torch.nested.nested_tensor([torch.randn(3, 32), torch.randn(5, 32)])
    for name in ("q_proj", "k_proj"):
        results = [getattr(one, name)(nested).unbind() for one in (model, reference)]
        assert all(torch.equal(*pair) for pair in zip(*results, strict=True))


def test_threads_take_their_own_results():
    model = Attention().eval()
    reference, x = copy.deepcopy(model), torch.randn(2, 5, 32)
    mindiesd.prepare(model, x, steps=["merge-linears"])
    model.q_proj(x)
    results = []

    def other():
        with torch.no_grad():
            results.append(model.k_proj(x))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert torch.equal(results[0], reference.k_proj(x))


def test_many_threads_at_once():
    model, reference = prepared()
    expected, wrong = reference(IDS), []

    def compute():
        with torch.no_grad():
            for _ in range(20):
                if not torch.allclose(model(IDS), expected, rtol=1e-4, atol=1e-5):
                    wrong.append(1)

    threads = [threading.Thread(target=compute) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_replaced_linear_leaves_the_others_right():
    model, reference = prepared()
    for one in (model, reference):
        torch.manual_seed(3)
        one.layers[0].attention.k_proj = nn.Linear(32, 16)
    close(model(IDS), reference(IDS))
    assert calls_of_linear(model, IDS) == 2 * 4 + 1 + 1


@pytest.mark.parametrize("turn", [torch.t, lambda w: w[:4]])
@pytest.mark.parametrize("name", ["a", "b"])
def test_a_weight_that_becomes_a_view_of_itself_is_seen(name, turn):
    model = Branches(lambda m, x: torch.cat([m.a(x), m.b(x)], -1)).eval()
    model.a.bias = model.b.bias = None
    x = torch.randn(3, 8)
    report = mindiesd.prepare(model, x, steps=["merge-linears"])
    assert report.count("merge-linears") == 1
    weight = getattr(model, name).weight
    weight.data = turn(weight.data)
    expected = torch.cat([x @ model.a.weight.t(), x @ model.b.weight.t()], -1)
    torch.testing.assert_close(model(x), expected)


def test_tensors_that_outlive_the_watching_keep_nothing_of_it():
    class Queries(Branches):
        def __init__(self):
            super().__init__(lambda m, x: m.a(m.queries) + m.b(m.queries) + x)
            self.register_buffer("queries", torch.randn(3, 8))

    model = Queries().eval()
    report = mindiesd.prepare(model, torch.randn(3, 8), steps=["merge-linears"])
    assert report.count("merge-linears") == 1 and not model.queries.__dict__
