"""What the functions refuse: each starts from a call that works and changes one thing. Then what the
library cannot do: memory that is not there, a CUDA context that died."""

import math
import os
import subprocess
import sys

import mindiesd
import pytest
import torch
from mindiesd import _backends, _eager, _library, _memory, ext
from mindiesd.utils import ModelExecError, ParametersInvalid

X, VECTOR, TABLE = torch.randn(2, 6, 4, 8), torch.randn(8), torch.randn(6, 1, 8)
ROWS, PACKED = torch.randn(2, 6, 8), torch.randn(6, 4, 8)
NORM = torch.nn.LayerNorm(8).requires_grad_(requires_grad=False)
CU = torch.tensor([0, 2, 6], dtype=torch.int32)

# (function, arguments, the arguments that are tensors of numbers)
CALLS = {
    "attention_forward": (mindiesd.attention_forward, [X, X, X], (0, 1, 2)),
    "ext.attention_forward": (ext.attention_forward, [X, X, X], (0, 1, 2)),
    "attention_forward_varlen": (
        mindiesd.attention_forward_varlen, [PACKED, PACKED, PACKED, CU, CU], (0, 1, 2),
    ),
    "rotary_position_embedding": (
        mindiesd.rotary_position_embedding, [X, TABLE[:, 0], TABLE[:, 0]], (0,),
    ),
    "ext.rotary_position_embedding": (ext.rotary_position_embedding, [X, TABLE, TABLE], (0,)),
    "rotary_complex": (
        ext.rotary_complex, [X, torch.complex(TABLE[..., :4], TABLE[..., 4:])], (0,),
    ),
    "rotary_qk": (ext.rotary_qk, [X, X, TABLE, TABLE], (0, 1)),
    "qk_norm_rotary": (ext.qk_norm_rotary, [X, X, VECTOR, VECTOR, TABLE, TABLE], (0, 1)),
    "rms_norm": (ext.rms_norm, [X, VECTOR], (0, 1)),
    "add_rms_norm": (ext.add_rms_norm, [X, X, VECTOR], (0, 1, 2)),
    "layer_norm": (ext.layer_norm, [X, 8, VECTOR, VECTOR], (0, 2, 3)),
    "fast_layernorm": (mindiesd.fast_layernorm, [NORM, ROWS], (1,)),
    "layernorm_scale_shift": (
        mindiesd.layernorm_scale_shift, [NORM, ROWS, VECTOR, VECTOR], (1, 2, 3),
    ),
    "softmax": (ext.softmax, [X], (0,)),
    "gelu": (ext.gelu, [X], (0,)),
    "gated": (ext.gated, [X, X, "silu"], (0, 1)),
    "glu": (ext.glu, [X, "silu"], (0,)),
}  # fmt: skip
PLACES = [(name, place) for name, (_, _, places) in CALLS.items() for place in places]


def refused(name, place, value):
    function, arguments, _ = CALLS[name]
    function(*arguments)
    changed = list(arguments)
    changed[place] = value(arguments[place])
    for _ in range(2):  # the second time as the first: no refusal is repeated from C
        with pytest.raises(ParametersInvalid) as caught:
            function(*changed)
        assert len(str(caught.value)) > len("[MIE06E000001] Parameters invalid. ")


@pytest.mark.parametrize("name, place", PLACES)
def test_what_is_no_tensor(name, place):
    refused(name, place, lambda tensor: tensor.tolist())


# For these torch computes, or refuses in its own words.
TORCH_DECIDES = [
    ("rms_norm", 0), ("rms_norm", 1), ("rotary_position_embedding", 0), ("ext.rotary_position_embedding", 0),
    ("rotary_complex", 0), ("softmax", 0), ("gelu", 0), ("glu", 0), ("gated", 0), ("gated", 1),
]  # fmt: skip


@pytest.mark.parametrize("name, place", [p for p in PLACES if p not in TORCH_DECIDES])
def test_tensors_of_integers(name, place):
    refused(name, place, lambda tensor: tensor.to(torch.int32))


@pytest.mark.parametrize("name, place", [p for p in PLACES if len(CALLS[p[0]][2]) > 1])
def test_sizes_that_do_not_fit(name, place):
    if "attention" in name and place == 2:  # values may have a width of their own, but no length
        refused(name, place, lambda tensor: tensor.narrow(tensor.dim() - 3, 0, 5))
    else:
        refused(name, place, lambda tensor: torch.randn(*tensor.shape[:-1], 5))


def test_ranks_that_do_not_fit():
    point = torch.randn(())
    for call in (
        lambda: mindiesd.attention_forward(X[0], X[0], X[0]),
        lambda: mindiesd.attention_forward_varlen(X, X, X, CU, CU),
        lambda: mindiesd.rotary_position_embedding(ROWS, TABLE[:, 0], TABLE[:, 0]),
        lambda: ext.rotary_position_embedding(point, TABLE, TABLE),
        lambda: ext.rotary_qk(point, point, TABLE, TABLE),
        lambda: ext.add_rms_norm(point, point),
        lambda: ext.layer_norm(point, 8),
        lambda: ext.softmax(X, 4),
        lambda: ext.glu(point, "silu"),
        lambda: mindiesd.RMSNorm(8)(VECTOR),
    ):
        with pytest.raises(ParametersInvalid):
            call()


@pytest.mark.parametrize("name, place", [p for p in PLACES if len(CALLS[p[0]][2]) > 1])
def test_operands_on_another_device(name, place):
    refused(name, place, lambda tensor: tensor.to("meta"))


def test_eps():
    eps = "1e-6"
    norm = torch.nn.LayerNorm(8, eps=1e-5).requires_grad_(requires_grad=False)
    norm.eps = eps
    for call in (
        lambda: ext.rms_norm(X, VECTOR, eps),
        lambda: ext.add_rms_norm(X, X, VECTOR, eps),
        lambda: ext.layer_norm(X, 8, VECTOR, VECTOR, eps),
        lambda: ext.qk_norm_rotary(X, X, VECTOR, VECTOR, TABLE, TABLE, eps=eps),
        lambda: mindiesd.fast_layernorm(norm, ROWS),
        lambda: mindiesd.layernorm_scale_shift(norm, ROWS, VECTOR, VECTOR),
        lambda: ext.residual_norm(norm, ROWS, ROWS),
        lambda: mindiesd.RMSNorm(8, eps)(X),
    ):
        with pytest.raises(ParametersInvalid, match="eps must"):
            call()
    with pytest.raises(ParametersInvalid, match="eps must not be negative"):
        ext.qk_norm_rotary(X, X, VECTOR, VECTOR, TABLE, TABLE, eps=-1e-6)


@pytest.mark.parametrize("eps", [math.nan, math.inf, -math.inf, -1e-6, -50.0])
def test_eps_that_no_kernel_takes(eps):
    """What torch gives: NaN under a negative root, zeros by an infinite one."""
    norm = torch.nn.LayerNorm(8, eps=1e-5).requires_grad_(requires_grad=False)
    norm.eps = eps
    root = torch.rsqrt(X.square().mean(-1, keepdim=True) + eps)
    total = ROWS + ROWS
    normal = VECTOR * (total * torch.rsqrt(total.square().mean(-1, keepdim=True) + eps))
    for result, expected in (
        (ext.rms_norm(X, VECTOR, eps), VECTOR * (X * root)),
        (ext.add_rms_norm(ROWS, ROWS, VECTOR, eps)[1], normal),
        (ext.layer_norm(X, 8, VECTOR, VECTOR, eps), torch.layer_norm(X, (8,), VECTOR, VECTOR, eps)),
        (mindiesd.fast_layernorm(norm, ROWS), norm(ROWS)),
        (mindiesd.layernorm_scale_shift(norm, ROWS, VECTOR, VECTOR), norm(ROWS) * (1 + VECTOR) + VECTOR),
        (ext.residual_norm(norm, ROWS, ROWS)[1], norm(total)),
        (mindiesd.RMSNorm(8, eps)(X), X * root),
    ):
        torch.testing.assert_close(result, expected, equal_nan=True)


def test_numbers_that_are_not_finite():
    for bad in (math.nan, math.inf):
        assert mindiesd.attention_forward(X, X, X, scale=bad).isnan().all()
        assert ext.softmax(X, scale=bad).isnan().all()
        with pytest.raises(ParametersInvalid, match="softcap must be finite"):
            ext.attention_forward(X, X, X, softcap=bad)


def test_in_place_over_what_is_read_as_well():
    memory = torch.randn(200)
    x, table = memory[:96].view(2, 6, 1, 8), memory[40:88].view(6, 1, 8)
    with pytest.raises(ParametersInvalid, match="must not share memory"):
        ext.rotary_position_embedding(x, table, TABLE, inplace=True)
    with pytest.raises(ParametersInvalid, match="must not overlap itself"):
        ext.rotary_position_embedding(X[:1].expand(3, 6, 4, 8), TABLE, TABLE, inplace=True)


@pytest.mark.parametrize(
    "status, error", [(_library._OUT_OF_MEMORY, MemoryError), (4, ModelExecError)]
)
def test_what_the_library_reports(monkeypatch, status, error):
    _eager.forget()
    monkeypatch.setattr(_library.rms_norm, "function", lambda arguments: status)
    with pytest.raises(error):
        ext.rms_norm(X, VECTOR)


needs_cuda = pytest.mark.skipif(
    not torch.cuda.is_available() or "cuda" not in _library.DEVICES,
    reason="no CUDA device, or a library without CUDA",
)

DEAD = """
import torch
from mindiesd import ext, utils
x, weight = torch.randn(2, 6, 4, 64, device="cuda").bfloat16(), torch.randn(64, device="cuda")
calls = [
    lambda: ext.rms_norm(x, weight), lambda: ext.gelu(x), lambda: ext.softmax(x),
    lambda: ext.rotary_position_embedding(x, x, x), lambda: ext.attention_forward(x, x, x),
    lambda: ext.attention_forward(x, x[:, :3], x[:, :3], softcap=2.0),
]
kept = [call() for call in calls[:-1]]
kept += [call() for call in calls[:-1]]
torch.cuda.synchronize()
try:
    torch._assert_async(torch.zeros((), device="cuda"))
    torch.cuda.synchronize()
except RuntimeError:
    pass
else:
    raise SystemExit("the context lives")
del kept  # so that torch has memory for results without asking the device
for call in calls:
    try:
        call()
    except RuntimeError as error:
        assert "cuda" in str(error).lower(), error
        print(type(error).__name__)
    else:
        print("silence")
"""


@needs_cuda
def test_a_dead_context_is_reported(tmp_path):
    environment = {
        **os.environ, "XDG_CACHE_HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }  # fmt: skip
    run = subprocess.run(
        [sys.executable, "-c", DEAD], env=environment, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    kinds = run.stdout.split()
    assert len(kinds) == 6 and "silence" not in kinds
    assert kinds[0] == "ModelExecError"


@needs_cuda
def test_out_of_memory(nothing_remembered, monkeypatch):
    monkeypatch.setenv("MINDIESD_CACHE", "off")
    x = torch.randn(2, 4096, 16, 128, device="cuda").bfloat16()  # 32 MiB
    weight = torch.randn(128, device="cuda")
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(x.device).total_memory
    room = 48 << 20
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + room) / total)
    try:
        # Room for a result and not for a problem to measure on: the library chooses.
        result = ext.attention_forward(x, x, x)
        assert not _memory.entries(x.device) and len(_backends.supported(
            dict(query=x, key=x, value=x, output=result, mask=None, alibi_slopes=None),
            dict(scale=1.0, softcap=0.0, window_left=-1, window_right=-1, layout=0, causal=0),
        )) > 1  # fmt: skip
        with pytest.raises(torch.cuda.OutOfMemoryError):
            ext.rms_norm(x, weight)
        with pytest.raises(torch.cuda.OutOfMemoryError):
            ext.rms_norm(x, weight)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert ext.rms_norm(x, weight).isfinite().all()
