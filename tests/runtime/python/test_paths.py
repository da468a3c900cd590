"""No slow path: whatever operands the shipped rules can hand to an operator, a kernel of the library computes it,
and not torch's operators one by one. Every combination of stride class, table form, type and width is tried, on the
CPU and where there is one on a GPU; what is left to torch on purpose is listed at the end."""

import itertools
from pathlib import Path

import pytest
import torch
from accuracy import FLOATS
from mindiesd import _eager, _library, _math, ext
from torch.utils._pytree import tree_leaves

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
    ),
]
WIDTHS = (2, 40, 64, 72, 128, 130, 256)
HALF_TABLES = (torch.float32, torch.float64, torch.bfloat16)


@pytest.fixture
def paths(monkeypatch):
    """Says of a call whether kernels alone computed it."""
    computed, plain = [], []
    original = _library.Operation.__call__

    def launched(self, *args, **keywords):
        computed.append(original(self, *args, **keywords))
        return computed[-1]

    monkeypatch.setattr(_library.Operation, "__call__", launched)
    for name in (
        "attention", "fused_attention", "attention_varlen", "rotary", "rms_norm", "qk_norm", "joint_heads",
        "residual", "fused_norm", "activation", "softmax", "group_norm",
    ):  # fmt: skip
        function = getattr(_math, name)
        monkeypatch.setattr(
            _math, name, lambda *a, f=function, n=name, **k: plain.append(n) or f(*a, **k)
        )

    def by_kernels(call):
        _eager.forget()
        computed.clear()
        plain.clear()
        call()
        return bool(computed) and all(computed) and not plain

    yield by_kernels
    _eager.forget()


def drawn(*shape, dtype=torch.float32, device="cpu"):
    return torch.randn(shape, device=device).to(dtype)


def heads(batch, length, count, width, dtype, device):
    """[B, S, N, D] in the strides that projections, transpositions, slices and repetitions give."""
    options = dict(dtype=dtype, device=device)
    return {
        "dense": drawn(batch, length, count, width, **options),
        "packed": drawn(batch, length, 3, count, width, **options)[:, :, 1],
        "heads first": drawn(batch, count, length, width, **options).transpose(1, 2),
        "sequence first": drawn(length, batch, count, width, **options).transpose(0, 1),
        "part of the tokens": drawn(batch, length + 3, count, width, **options)[:, 3:],
        "part of the columns": drawn(batch, length, count, width + 6, **options)[..., 2 : 2 + width],
        "repeated": drawn(batch, length, 1, width, **options).expand(-1, -1, count, -1),
    }


def rows(batch, length, width, dtype, device):
    """[B, S, D] likewise."""
    options = dict(dtype=dtype, device=device)
    return {
        "dense": drawn(batch, length, width, **options),
        "packed": drawn(batch, length, 2 * width, **options)[..., width:],
        "sequence first": drawn(length, batch, width, **options).transpose(0, 1),
        "part of the tokens": drawn(batch, length + 2, width, **options)[:, 2:],
        "behind a convolution": drawn(batch, width, length, **options).transpose(1, 2),
        "every second": drawn(batch, 2 * length, width, **options)[:, ::2],
    }


def missed(found):
    return [name for name, kernels in found.items() if not kernels]


def tables(width, dtype, device, batch, length):
    """(cos, sin) in the forms that model code has: for [B, S, N, D]."""
    full = drawn(length, 1, width, dtype=dtype, device=device)
    return {
        "full": (full, full),
        "per sample": (drawn(batch, length, 1, width, dtype=dtype, device=device),) * 2,
        "half": (full[..., : width // 2].contiguous(),) * 2,
        "every second column": (full[..., 0::2], full[..., 1::2]),
        "halves of one": tuple(full.chunk(2, -1)),
        "columns side by side": tuple(
            drawn(length, 1, width // 2, 2, dtype=dtype, device=device).unbind(-1)
        ),
        "one sequence for all": (full.expand(length, 1, width),) * 2,
        "positions last": (drawn(width, length, dtype=dtype, device=device).t()[:, None],) * 2,
    }


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_rotations(paths, device, dtype):
    found = {}
    for width, table_type, mode in itertools.product(
        WIDTHS, HALF_TABLES, ("rotated_half", "rotated_interleaved")
    ):
        operands = heads(2, 5, 3, width, dtype, device)
        forms = tables(width, table_type, device, 2, 5)
        for (like, x), (form, (cos, sin)) in itertools.product(operands.items(), forms.items()):
            if like != "dense" and form not in ("full", "every second column"):
                continue
            for strides in ("x", "dense"):
                found[f"rotary {width} {table_type} {mode} {like} {form} {strides}"] = paths(
                    lambda x=x, c=cos, s=sin, m=mode, t=strides: ext.rotary_position_embedding(x, c, s, m, strides=t)
                )
            if like == "repeated":
                continue
            found[f"rotary_qk {width} {table_type} {mode} {like} {form}"] = paths(
                lambda x=x, c=cos, s=sin, m=mode: ext.rotary_qk(x, x + 1, c, s, m)
            )
            weight = drawn(width, dtype=dtype, device=device)
            found[f"qk_norm_rotary {width} {table_type} {mode} {like} {form}"] = paths(
                lambda x=x, c=cos, s=sin, m=mode, w=weight: ext.qk_norm_rotary(x, x + 1, w, w, c, s, m)
            )
            norm = torch.nn.RMSNorm(width, eps=1e-6, device=device, dtype=dtype)
            found[f"norm_rotary {width} {table_type} {mode} {like} {form}"] = paths(
                lambda x=x, c=cos, s=sin, m=mode, n=norm: ext.norm_rotary(n, x, c, s, m)
            )
    assert not missed(found)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_rotations_by_complex_numbers_and_matrices(paths, device, dtype):
    found = {}
    for width, (like, x) in ((w, item) for w in WIDTHS for item in heads(2, 5, 3, w, dtype, device).items()):
        for kind in (torch.complex64, torch.complex128):
            parts = [drawn(5, 1, width // 2, device=device) for _ in range(2)]
            table = torch.complex(*parts).to(kind)
            for form, given in (("dense", table), ("of half the pairs", torch.cat((table, table), -1)[..., ::2])):
                found[f"complex {kind} {width} {like} {form}"] = paths(
                    lambda x=x, t=given: ext.rotary_complex(x, t)
                )
        matrices = drawn(5, 1, width // 2, 2, 2, device=device)
        for form, given in (("dense", matrices), ("transposed", matrices.transpose(-1, -2))):
            found[f"matrix {width} {like} {form}"] = paths(lambda x=x, t=given: ext.rotary_matrix(x, t))
    assert not missed(found)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_joint_heads(paths, device, dtype):
    found = {}
    root = torch.nn.RMSNorm(64, eps=1e-6, device=device, dtype=dtype)
    layer = torch.nn.LayerNorm(64, device=device, dtype=dtype)
    for like in heads(2, 5, 3, 64, dtype, device):
        image, text = (heads(2, length, 3, 64, dtype, device)[like] for length in (5, 4))
        for table_type, (form, norms) in itertools.product(
            HALF_TABLES, (("none", ()), ("rms", (root,) * 4), ("layer", (layer,) * 4), ("one stream", (root, root)))
        ):
            for name, (cos, sin) in tables(64, table_type, device, 2, 5).items():
                found[f"{like} {table_type} {form} {name}"] = paths(
                    lambda i=image, t=text, n=norms, c=cos, s=sin: ext.joint_heads(i, i, i, t, t, t, *n, cos=c, sin=s)
                )
    assert not missed(found)


def modulators(width, dtype, device):
    """Per sample, per token, for all, one value; of the operand's type and of float32."""
    for kind in {dtype, torch.float32}:
        for shape in ((2, 1, width), (2, 5, width), (width,), (1, 1, width), (2, 5, 1)):
            yield f"{kind} {shape}", drawn(*shape, dtype=kind, device=device)
        packed = drawn(2, 6, width, dtype=kind, device=device)
        yield f"{kind} of a chunk", packed.chunk(6, 1)[2]
        yield f"{kind} repeated", drawn(2, 1, width, dtype=kind, device=device).expand(-1, 5, -1)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_norms(paths, device, dtype):
    found = {}
    for width in (1, 40, 72, 130, 1152):
        norms = {
            "layer": torch.nn.LayerNorm(width, device=device, dtype=dtype),
            "layer without weight": torch.nn.LayerNorm(width, elementwise_affine=False, device=device),
            "rms": torch.nn.RMSNorm(width, eps=1e-6, device=device, dtype=dtype),
        }
        weight = drawn(width, dtype=dtype, device=device)
        for like, x in rows(2, 5, width, dtype, device).items():
            for result_type in ("promoted", "input", "weight", "float32", "torch"):
                for given in (None, weight, weight.float()):
                    found[f"rms_norm {width} {like} {result_type} {given is None}"] = paths(
                        lambda x=x, w=given, r=result_type: ext.rms_norm(x, w, result_type=r)
                    )
            found[f"layer_norm {width} {like}"] = paths(
                lambda x=x, n=width, w=weight: ext.layer_norm(x, n, w, w)
            )
            for (kind, norm), (name, by) in itertools.product(norms.items(), modulators(width, dtype, device)):
                if like not in ("dense", "packed") and "chunk" not in name:
                    continue
                found[f"norm_scale_shift {width} {like} {kind} {name}"] = paths(
                    lambda x=x, n=norm, m=by: ext.norm_scale_shift(n, x, m, m)
                )
                found[f"residual_norm {width} {like} {kind} {name}"] = paths(
                    lambda x=x, n=norm, m=by: ext.residual_norm(n, x, x + 1, m, m, m)
                )
                if x.is_cuda and width > 1 and x.stride(-1) != 1:
                    continue  # torch's operators go through memory in its order
                found[f"residual {width} {like} {name}"] = paths(
                    lambda x=x, m=by: ext.residual(x, x + 1, m, gate_function="tanh")
                )
    assert not missed(found)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_activations_and_softmax(paths, device, dtype):
    found = {}
    for width in (1, 6, 64, 130):
        for like, x in rows(2, 5, width, dtype, device).items():
            for name in ("none", "tanh", "fast"):
                found[f"gelu {name} {width} {like}"] = paths(lambda x=x, n=name: ext.gelu(x, n))
            found[f"silu {width} {like}"] = paths(lambda x=x: ext.silu(x))
            found[f"gated {width} {like}"] = paths(lambda x=x: ext.gated(x, x.float(), "silu"))
            if width % 2 == 0:
                found[f"glu {width} {like}"] = paths(lambda x=x: ext.glu(x, "gelu", gate="first"))
            joined = drawn(2, 5, width + 3, dtype=dtype, device=device)
            found[f"gelu into a slice {width} {like}"] = paths(
                lambda x=x, j=joined: ext.gelu(x, "tanh", out=j[..., 3:])
            )
            for dim, subtract in itertools.product((-1, 1), (None, "row", "global")):
                found[f"softmax {width} {like} {dim} {subtract}"] = paths(
                    lambda x=x, d=dim, s=subtract: ext.softmax(
                        x, d, scale=0.5, bias=x[:, :1], subtract=s, clamp_min=-9.0, mask=x > -3
                    )
                )
    assert not missed(found)


@pytest.mark.parametrize("dtype", FLOATS)
def test_attention(paths, dtype):
    """On the CPU; a GPU chooses among back ends, of which torch's may be the fastest."""
    found = {}
    for width in (8, 40, 64, 72, 130):
        for like, x in heads(2, 9, 4, width, dtype, "cpu").items():
            for name, mask in (
                ("no mask", None), ("keys", torch.rand(2, 1, 1, 9) > 0.3), ("bias", drawn(1, 4, 9, 9, dtype=dtype)),
                ("repeated", (torch.rand(2, 1, 1, 9) > 0.3).expand(-1, 4, 9, -1)), ("float32", drawn(9, 9)),
            ):  # fmt: skip
                found[f"{width} {like} {name}"] = paths(lambda x=x, m=mask: ext.attention_forward(x, x, x, m))
                turned = x.transpose(1, 2)
                found[f"heads first {width} {like} {name}"] = paths(
                    lambda x=turned, m=mask: ext.attention_forward(x, x, x, m, head_first=True, strides="BNSD")
                )
            found[f"causal {width} {like}"] = paths(
                lambda x=x: ext.attention_forward(
                    x, x, x, is_causal=True, window_size=(3, -1), softcap=5.0, alibi_slopes=torch.rand(4)
                )
            )
            found[f"packed {width} {like}"] = paths(
                lambda x=x: ext.attention_forward_varlen(x[0], x[0], x[0], [0, 4, 9], [0, 4, 9], causal=True)
            )
            joined = drawn(2, 9, 4 * width + 8, dtype=dtype)
            found[f"into a slice {width} {like}"] = paths(
                lambda x=x, j=joined, w=width: ext.attention_forward(x, x, x, out=j[..., 8:].unflatten(-1, (4, w)))
            )
    assert not missed(found)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_group_norms(paths, device, dtype):
    """With SiLU: without it, and over channels last, torch's own norm serves the CPU."""
    found = {}
    for shape in ((2, 32, 8, 8), (2, 24, 7, 5), (2, 40, 33), (1, 8, 2, 4, 4), (3, 8, 1, 1)):
        norm = torch.nn.GroupNorm(4, shape[1], device=device, dtype=dtype)
        x = drawn(*shape, dtype=dtype, device=device)
        likes = {"dense": x, "part of the channels": torch.cat((x, x), 1)[:, : shape[1]]}
        if len(shape) == 3:
            likes["part of the positions"] = torch.cat((x, x), -1)[..., : shape[-1]]
            likes["tokens"] = x.transpose(1, 2).contiguous().transpose(1, 2)
        for like, given in likes.items():
            found[f"{shape} {like}"] = paths(lambda x=given, n=norm: ext.group_norm(n, x, "silu"))
        if device == "cuda" and len(shape) == 4 and shape[1] * x.element_size() % 16 == 0:
            last = x.to(memory_format=torch.channels_last)
            found[f"{shape} channels last"] = paths(
                lambda x=last, n=norm: ext.group_norm(n, x, strides="x")
            )
    assert not missed(found)


@pytest.mark.parametrize("tokens", [1, 9])
@pytest.mark.parametrize("device", DEVICES)
def test_what_the_benchmark_of_paths_compares_is_the_same(monkeypatch, device, tokens):
    """bench/path_cases.py: each call and the lines that it replaces."""
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[3] / "bench")
    from path_cases import cases

    for name, ours, lines in cases(tokens, torch.float32, device):
        for found, wanted in zip(tree_leaves(ours()), tree_leaves(lines()), strict=True):
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4, msg=lambda text, n=name: f"{n}: {text}")


def test_what_is_left_to_torch(paths):
    """Types without kernels, and positions of a GroupNorm that do not lie one step apart."""
    x = torch.randn(2, 5, 3, 16)
    table = torch.randn(5, 1, 16)
    wide = torch.nn.GroupNorm(2, 8)
    apart = torch.randn(2, 8, 6, 12)[..., :6]
    for call in (
        lambda: ext.rotary_position_embedding(x.double(), table.double(), table.double()),
        lambda: ext.rms_norm(x.double()),
        lambda: ext.gelu(x.double()),
        lambda: ext.attention_forward(*[x.double()] * 3),
        lambda: ext.group_norm(wide, apart, "silu"),
    ):
        assert not paths(call)
