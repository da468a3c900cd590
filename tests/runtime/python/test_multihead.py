"""``ext.MultiheadAttention`` and ``ext.multihead_attention`` against torch's module: values, strides, masks, what is
torch's own to compute, and what tools that look at modules see."""

import copy
import inspect
import io
import itertools
import re

import pytest
import torch
from accuracy import FLOATS, Pool
from mindiesd import ext
from mindiesd.utils import ParametersInvalid
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
    ),
]
WIDTH, BATCH, LENGTH, KEYS = 48, 2, 6, 7
MASKS = {
    "none": {},
    "hidden": {"attn_mask": "bool2"},
    "hidden by head": {"attn_mask": "bool3"},
    "padding": {"key_padding_mask": "bool"},
    "hidden and padding": {"attn_mask": "bool2", "key_padding_mask": "bool"},
    "hidden by head and padding": {"attn_mask": "bool3", "key_padding_mask": "bool"},
    "added": {"attn_mask": "float2"},
    "added by head": {"attn_mask": "float3"},
    "added padding": {"key_padding_mask": "float"},
    "added both": {"attn_mask": "float2", "key_padding_mask": "float"},
    "added by head, padding": {"attn_mask": "float3", "key_padding_mask": "bool"},
    "hidden, added padding": {"attn_mask": "bool2", "key_padding_mask": "float"},
}


class Operators(TorchDispatchMode):
    """Which of our operators ran."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.namespace == "mindiesd":
            self.seen.append(function.name())
        return function(*args, **(kwargs or {}))

    def __enter__(self):
        self.seen = []
        return super().__enter__()


def ours(call):
    with Operators() as operators:
        call()
    return bool(operators.seen)


def pair(dtype=torch.float32, heads=4, device="cpu", **options):
    """torch's module and the stand-in with the same parameters."""
    theirs = nn.MultiheadAttention(WIDTH, heads, device=device, **options).eval()
    for parameter in theirs.parameters():
        parameter.uniform_(-0.3, 0.3)
    own = ext.MultiheadAttention(WIDTH, heads, device=device, **options).eval()
    own.load_state_dict(theirs.state_dict())
    return theirs.to(dtype), own.to(dtype)


def masks(kind, dtype, heads, keys, device="cpu"):
    made = {}
    for name, form in MASKS[kind].items():
        shape = (BATCH, keys) if name == "key_padding_mask" else (LENGTH, keys)
        shape = (BATCH * heads, *shape) if form.endswith("3") else shape
        if form.startswith("float"):
            made[name] = torch.randn(shape, device=device).to(dtype)
        else:
            made[name] = torch.rand(shape, device=device) < 0.3
            made[name][..., 0] = False
    return made


def operands(how, dtype, batch_first, width=WIDTH, device="cpu"):
    keys = LENGTH if how == "self" else KEYS
    q = torch.randn(BATCH, LENGTH, WIDTH, device=device).to(dtype)
    k = torch.randn(BATCH, keys, width, device=device).to(dtype)
    v = torch.randn(BATCH, keys, width, device=device).to(dtype)
    if not batch_first:
        q, k, v = (t.transpose(0, 1).contiguous() for t in (q, k, v))
    return {"self": (q, q, q), "cross": (q, k, k), "three": (q, k, v)}[how]


def exact(module, tensors, given):
    """In float64, without torch's native function."""
    wide = copy.deepcopy(module).double()
    same = {id(t): t.double() for t in tensors}
    given = {n: m.double() if m.is_floating_point() else m for n, m in given.items()}
    enabled = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        return wide(*(same[id(t)] for t in tensors), need_weights=False, **given)[0]
    finally:
        torch.backends.mha.set_fastpath_enabled(enabled)


@pytest.mark.filterwarnings("ignore:Support for mismatched", "ignore:Converting mask")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", MASKS)
def test_agrees_with_torch(kind, dtype, device):
    pools = {"module": Pool(), "function": Pool()}
    options = itertools.product((True, False), (True, False), (None, 24), (4, 3), ("self", "cross", "three"))
    for batch_first, bias, width, heads, how in options:
        if how == "self" and width:
            continue
        theirs, own = pair(
            dtype, heads, device, batch_first=batch_first, bias=bias, kdim=width, vdim=width
        )
        tensors = operands(how, dtype, batch_first, width or WIDTH, device)
        given = masks(kind, dtype, heads, tensors[1].shape[1 if batch_first else 0], device)
        reference = exact(theirs, tensors, given)
        magnitude = reference.abs().amax().clamp_min(1.0)
        result, weights = own(*tensors, need_weights=False, **given)
        original = theirs(*tensors, need_weights=False, **given)[0]
        assert weights is None
        assert result.stride() == original.stride(), (batch_first, how, heads, bias)
        pools["module"].add(result, original, reference, magnitude)
        for module in (theirs, own):
            assert ours(lambda: ext.multihead_attention(module, *tensors, **given))  # noqa: B023
            result = ext.multihead_attention(module, *tensors, **given)
            original = theirs(*tensors, **given)[0]
            assert result.stride() == original.stride(), (batch_first, how, heads, bias)
            pools["function"].add(result, original, reference, magnitude)
    for pool in pools.values():
        pool.check()


def test_is_torchs_module_to_whoever_asks():
    torch.manual_seed(3)
    theirs = nn.MultiheadAttention(WIDTH, 4, add_bias_kv=True, kdim=8)
    torch.manual_seed(3)
    own = ext.MultiheadAttention(WIDTH, 4, add_bias_kv=True, kdim=8)
    assert isinstance(own, nn.MultiheadAttention)
    assert [n for n, _ in own.named_parameters()] == [n for n, _ in theirs.named_parameters()]
    assert all(torch.equal(a, b) for a, b in zip(own.parameters(), theirs.parameters(), strict=True))
    file = io.BytesIO()
    torch.save(own, file)
    file.seek(0)
    assert type(torch.load(file, weights_only=False)) is ext.MultiheadAttention
    assert type(copy.deepcopy(own)) is ext.MultiheadAttention
    assert repr(own) == repr(theirs)


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ({}, {"need_weights": True}),
        ({"add_bias_kv": True}, {}),
        ({"add_zero_attn": True}, {}),
        ({"dropout": 0.5}, {"training": True}),
        ({}, {"attn_mask": torch.zeros(LENGTH, LENGTH), "is_causal": True}),
    ],
)
def test_what_is_torchs_own_to_compute(options, given):
    given = dict(given)
    theirs, own = pair(batch_first=True, **options)
    x = torch.randn(BATCH, LENGTH, WIDTH)
    for module in (theirs, own):
        module.train(given.get("training", False))
    given.pop("training", None)
    given = {"need_weights": False, **given}
    assert not ours(lambda: own(x, x, x, **given))
    results = []
    for module in (theirs, own):
        torch.manual_seed(5)
        results.append(module(x, x, x, **given))
    for a, b in zip(*results, strict=True):
        assert a is b is None or torch.equal(a, b)


def test_unbatched_and_refused_operands_are_torchs():
    theirs, own = pair(batch_first=True)
    x = torch.randn(LENGTH, WIDTH)
    assert torch.equal(own(x, x, x, need_weights=False)[0], theirs(x, x, x, need_weights=False)[0])
    x = torch.randn(BATCH, LENGTH, WIDTH)
    for wrong in (
        {"attn_mask": torch.zeros(3, 3)},
        {"attn_mask": torch.zeros(LENGTH, LENGTH).long()},
        {"key_padding_mask": torch.zeros(1, LENGTH).bool()},
    ):
        with pytest.raises((RuntimeError, AssertionError)) as error:
            theirs(x, x + 1, x, need_weights=False, **wrong)
        with pytest.raises(error.type, match=re.escape(str(error.value))) as refused:
            own(x, x + 1, x, need_weights=False, **wrong)
        assert isinstance(refused.value, ParametersInvalid)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_operands_are_torchs():
    theirs, own = pair(batch_first=True)
    parts = [torch.randn(3, WIDTH), torch.randn(5, WIDTH)]
    x = torch.nested.nested_tensor(parts)
    results = [module(x, x, x, need_weights=False)[0].unbind() for module in (theirs, own)]
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def test_causality_is_followed_as_torch_follows_it():
    causal = torch.triu(torch.ones(LENGTH, LENGTH), 1).bool()
    other = torch.rand(LENGTH, LENGTH) < 0.3
    other[:, 0] = False
    padding = torch.rand(BATCH, LENGTH) < 0.3
    padding[:, 0] = False
    for batch_first, mask, hidden in itertools.product((True, False), (causal, other), (None, padding)):
        theirs, own = pair(batch_first=batch_first)
        q, k, v = operands("three", torch.float32, batch_first)
        k, v = (t.narrow(1 if batch_first else 0, 0, LENGTH) for t in (k, v))
        for tensors in ((q, k, v), (q, q, q)):
            given = {"attn_mask": mask, "is_causal": True, "key_padding_mask": hidden}
            original = theirs(*tensors, need_weights=False, **given)[0]
            result = own(*tensors, need_weights=False, **given)[0]
            torch.testing.assert_close(result, original, atol=1e-5, rtol=1e-5)
            assert result.stride() == original.stride()


def test_a_query_without_key_gives_no_nan():
    theirs, own = pair(batch_first=True)
    q, k, v = operands("three", torch.float32, True)
    hidden = torch.zeros(LENGTH, KEYS).bool()
    hidden[2] = True
    result = own(q, k, v, need_weights=False, attn_mask=hidden)[0]
    original = theirs(q, k, v, need_weights=False, attn_mask=hidden)[0]
    expected = torch.where(original.isnan(), theirs.out_proj.bias, original)
    torch.testing.assert_close(result, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(result[:, 2], theirs.out_proj.bias.expand(BATCH, -1))


def test_gradients_are_torchs():
    theirs, own = pair(batch_first=True)
    x = torch.randn(BATCH, LENGTH, WIDTH)
    found = []
    with torch.enable_grad():
        for module in (theirs, own):
            operand = x.clone().requires_grad_()
            module(operand, operand, operand, need_weights=False)[0].square().sum().backward()
            found.append([operand.grad, *(p.grad.clone() for p in module.parameters())])
        operand = x.clone().requires_grad_()
        ext.multihead_attention(own, operand, operand, operand).square().sum().backward()
        found.append([operand.grad])
    for a, b in zip(*found[:2], strict=True):
        assert torch.equal(a, b)
    torch.testing.assert_close(found[2][0], found[0][0])


def test_other_modules_are_called():
    class Own(nn.MultiheadAttention):
        def forward(self, query, key, value, key_padding_mask=None):
            return super().forward(2 * query, key, value, key_padding_mask)

    x = torch.randn(BATCH, LENGTH, WIDTH)
    module = Own(WIDTH, 4, batch_first=True).eval()
    padding = torch.zeros(BATCH, LENGTH).bool()
    result = ext.multihead_attention(module, x, x, x, key_padding_mask=padding)
    assert torch.equal(result, module(x, x, x, padding)[0])
    assert torch.equal(ext.multihead_attention(lambda q, k, v: (q - v + k, None), x, x, x), x)
    _, own = pair(batch_first=True)
    seen = []
    own.register_forward_hook(lambda _, args, result: seen.append(result[1]))
    ext.multihead_attention(own, x, x, x)
    assert seen[0].shape == (BATCH, LENGTH, LENGTH)


def test_a_forward_that_the_program_gives_torchs_class_is_called(monkeypatch):
    _, own = pair(batch_first=True)
    x = torch.randn(BATCH, LENGTH, WIDTH)
    monkeypatch.setattr(nn.MultiheadAttention, "forward", lambda self, query, *_, **__: (2 * query, None))
    assert torch.equal(own(x, x, x, need_weights=False)[0], 2 * x)
    assert torch.equal(ext.multihead_attention(own, x, x, x), 2 * x)
    assert torch.equal(ext.multihead_attention(nn.MultiheadAttention(WIDTH, 4), x, x, x), 2 * x)


def test_replaced_and_parametrised_weights_count():
    class Twice(nn.Module):
        def forward(self, weight):
            return 2 * weight

    theirs, own = pair(batch_first=True)
    x = torch.randn(BATCH, LENGTH, WIDTH)
    for module in (theirs, own):
        nn.utils.parametrize.register_parametrization(module, "in_proj_weight", Twice())
        module.out_proj = nn.Linear(WIDTH, WIDTH).requires_grad_(False)
    own.load_state_dict(theirs.state_dict())
    original = theirs(x, x, x, need_weights=False)[0]
    torch.testing.assert_close(own(x, x, x, need_weights=False)[0], original, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16))
def test_autocast(dtype):
    for batch_first, how in itertools.product((True, False), ("self", "three")):
        theirs, own = pair(batch_first=batch_first)
        tensors = operands(how, torch.float32, batch_first)
        keys = tensors[1].shape[1 if batch_first else 0]
        for kind in ("none", "hidden and padding", "added"):
            given = masks(kind, torch.float32, 4, keys)
            with torch.autocast("cpu", dtype):
                original = theirs(*tensors, need_weights=False, **given)[0]
                result = own(*tensors, need_weights=False, **given)[0]
            assert result.dtype == original.dtype
            assert result.stride() == original.stride()
            torch.testing.assert_close(result, original, atol=3e-2, rtol=3e-2)


def test_fx_takes_it_as_a_leaf():
    class Block(nn.Module):
        def __init__(self, module):
            super().__init__()
            self.attn = module

        def forward(self, x):
            return x + self.attn(x, x, x, need_weights=False)[0] + ext.multihead_attention(self.attn, x, x, x)

    theirs, own = pair(batch_first=True)
    x = torch.randn(BATCH, LENGTH, WIDTH)
    for module in (theirs, own):
        traced = torch.fx.symbolic_trace(Block(module))
        assert [n.target for n in traced.graph.nodes if n.op == "call_module"] == ["attn", "attn"]
        torch.testing.assert_close(traced(x), Block(theirs)(x), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("batch_first", (True, False))
def test_torch_compile(batch_first):
    theirs, own = pair(batch_first=batch_first)
    for how in ("self", "three"):
        tensors = operands(how, torch.float32, batch_first)
        padding = {"key_padding_mask": torch.zeros(BATCH, tensors[1].shape[1 if batch_first else 0]).bool()}
        original = theirs(*tensors, need_weights=False, **padding)[0]
        compiled = torch.compile(own, fullgraph=True, backend="aot_eager")
        result = compiled(*tensors, need_weights=False, **padding)[0]
        torch.testing.assert_close(result, original, atol=1e-5, rtol=1e-5)
        assert result.stride() == original.stride()


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("how", ("self", "three"))
def test_under_vmap_and_forward_mode(how):
    theirs, own = (module.requires_grad_(requires_grad=False) for module in pair(batch_first=True))
    tensors = operands(how, torch.float32, batch_first=True)

    def call(module, factor):
        same = {id(t): t * factor for t in tensors}
        return module(*(same[id(t)] for t in tensors), need_weights=False)[0]

    factors = torch.tensor([0.5, 1.0, 2.0])
    expected = torch.stack([call(theirs, factor) for factor in factors])
    result = torch.vmap(lambda factor: call(own, factor))(factors)
    torch.testing.assert_close(result, expected, atol=1e-5, rtol=1e-5)
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            tangents = [
                torch.func.jvp(lambda factor: call(module, factor), (factors[0],), (factors[1],))[1]  # noqa: B023
                for module in (theirs, own)
            ]
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    torch.testing.assert_close(tangents[1], tangents[0], atol=1e-5, rtol=1e-5)


def test_in_torchs_encoder_layer():
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 64, batch_first=True).eval()
    swapped = copy.deepcopy(layer)
    own = ext.MultiheadAttention(WIDTH, 4, batch_first=True).eval()
    own.load_state_dict(layer.self_attn.state_dict())
    swapped.self_attn = own
    x = torch.randn(BATCH, LENGTH, WIDTH)
    hidden = torch.triu(torch.ones(LENGTH, LENGTH), 1).bool()
    for fast in (True, False):
        torch.backends.mha.set_fastpath_enabled(fast)
        try:
            for mask in (None, hidden):
                torch.testing.assert_close(swapped(x, mask), layer(x, mask), atol=1e-5, rtol=1e-5)
        finally:
            torch.backends.mha.set_fastpath_enabled(True)


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_function_agrees_with_torchs(dtype):
    pool = Pool()
    kinds = ("none", "hidden by head and padding", "added", "added by head, padding")
    for kind, how, separate in itertools.product(kinds, ("self", "cross", "three"), (True, False)):
        theirs, _ = pair(dtype)
        tensors = operands(how, dtype, batch_first=False)
        given = masks(kind, dtype, 4, tensors[1].shape[0])
        if separate:
            q, k, v = theirs.in_proj_weight.chunk(3)
            weights = {"q_proj_weight": q, "k_proj_weight": k, "v_proj_weight": v}
            given |= {**weights, "use_separate_proj_weight": True}
        rest = (
            *tensors, WIDTH, 4, None if separate else theirs.in_proj_weight, theirs.in_proj_bias, None, None,
            False, 0.5, theirs.out_proj.weight, theirs.out_proj.bias, False,
        )  # fmt: skip
        given["need_weights"] = False
        original, _ = nn.functional.multi_head_attention_forward(*rest, **given)
        assert ours(lambda: ext.multi_head_attention_forward(*rest, **given))  # noqa: B023
        result, weights = ext.multi_head_attention_forward(*rest, **given)
        assert weights is None
        assert result.stride() == original.stride()
        wide = [t.double() if isinstance(t, torch.Tensor) else t for t in rest]
        for a, b in ((1, 0), (2, 1)):
            wide[a] = wide[b] if rest[a] is rest[b] else wide[a]
        exact_given = {
            n: t.double() if isinstance(t, torch.Tensor) and t.is_floating_point() else t
            for n, t in given.items()
        }
        reference = nn.functional.multi_head_attention_forward(*wide, **exact_given)[0]
        pool.add(result, original, reference, reference.abs().amax().clamp_min(1.0))
        for asked in ({"need_weights": True}, {"training": True}, {"add_zero_attn": True}):
            names = inspect.signature(ext.multi_head_attention_forward).parameters
            call = dict(zip(names, rest, strict=False)) | given | asked
            assert not ours(lambda: ext.multi_head_attention_forward(**call))  # noqa: B023
    pool.check()


def test_the_functions_parameters_are_torchs():
    own = inspect.signature(ext.multi_head_attention_forward).parameters
    theirs = inspect.signature(nn.functional.multi_head_attention_forward).parameters
    assert [(p.name, p.default) for p in own.values()] == [(p.name, p.default) for p in theirs.values()]
