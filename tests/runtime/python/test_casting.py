"""LayerNorms whose class merely casts: one pass where it is shown, the module's own call elsewhere."""

import mindiesd
import pytest
import torch
import torch.nn.functional as F
from mindiesd import ext
from mindiesd.ext._casting import merely_casts
from torch import nn


class ByTypeAs(nn.LayerNorm):
    def __init__(self, dim, eps=1e-6):
        super().__init__(dim, elementwise_affine=False, eps=eps)

    def forward(self, hidden):
        r"""hidden: [B, L, C]"""
        return super().forward(hidden.float()).type_as(hidden)


class InThreeLines(nn.LayerNorm):
    def forward(self, x: torch.Tensor):
        orig_type = x.dtype
        ret = super().forward(x.type(torch.float32))
        return ret.type(orig_type)


class ByTheFunction(nn.LayerNorm):
    def forward(self, inputs):
        origin_dtype = inputs.dtype
        return F.layer_norm(
            inputs.float(),
            self.normalized_shape,
            self.weight.float() if self.weight is not None else None,
            self.bias.float() if self.bias is not None else None,
            self.eps,
        ).to(origin_dtype)


class ByTheFunctionAlone(nn.LayerNorm):
    def forward(self, hidden_states):
        return F.layer_norm(
            hidden_states.float(), self.normalized_shape, self.weight, self.bias, self.eps
        ).to(hidden_states.dtype)


class ByTheFunctionOfNn(nn.LayerNorm):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: any shape"""
        output = nn.functional.layer_norm(
            x.float(),
            self.normalized_shape,
            self.weight.float() if self.weight is not None else None,
            self.bias.float() if self.bias is not None else None,
            self.eps,
        )
        return output.type_as(x)


class Heir(ByTypeAs):
    pass


class Twice(nn.LayerNorm):
    def forward(self, x):
        return super().forward(2 * x.float()).type_as(x)


class OfAnother(nn.LayerNorm):
    def forward(self, x, other):
        return super().forward(x.float()).type_as(other)


class AboveAnother(Twice):
    def forward(self, x):
        return super().forward(x.float()).type_as(x)


def _doubling(x, *rest):
    return 2 * F.layer_norm(x, *rest)


def _other_globals():
    names = {"nn": nn, "torch": torch, "F": type("F", (), {"layer_norm": staticmethod(_doubling)})}
    exec(  # a module of its own, whose F is another
        "class OtherF(nn.LayerNorm):\n"
        "    def forward(self, x):\n"
        "        dtype = x.dtype\n"
        "        return F.layer_norm(\n"
        "            x.float(), self.normalized_shape,\n"
        "            self.weight.float() if self.weight is not None else None,\n"
        "            self.bias.float() if self.bias is not None else None,\n"
        "            self.eps,\n"
        "        ).to(dtype)\n",
        names,
    )
    return names["OtherF"]


OtherF = _other_globals()


@pytest.mark.parametrize(
    "kind", [ByTypeAs, InThreeLines, ByTheFunction, ByTheFunctionAlone, ByTheFunctionOfNn, Heir]
)
def test_a_class_that_merely_casts_is_known(kind):
    assert merely_casts(kind)


@pytest.mark.parametrize("kind", [nn.LayerNorm, Twice, OfAnother, AboveAnother, OtherF, nn.Linear])
def test_any_other_is_not(kind):
    assert not merely_casts(kind)


def test_a_forward_that_is_replaced_later_is_seen():
    class Replaced(ByTypeAs):
        pass

    assert merely_casts(Replaced)
    Replaced.forward = Twice.forward
    assert not merely_casts(Replaced)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("kind", [ByTypeAs, InThreeLines, ByTheFunction, Twice])
@pytest.mark.parametrize("norm_type", [None, "float32"])
@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("scale_dtype", [torch.float32, torch.bfloat16])
def test_it_computes_what_torch_computes(kind, dtype, norm_type, autocast, scale_dtype):
    torch.manual_seed(0)
    norm = kind(32)
    for parameter in norm.parameters():
        nn.init.normal_(parameter).requires_grad_(False)
    x = torch.randn(2, 5, 32).to(dtype)
    scale, shift = torch.randn(2, 2, 1, 32).to(scale_dtype)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        normed = norm(x)
        expected = (normed if norm_type is None else normed.float()) * (1 + scale) + shift
        result = ext.layernorm_scale_shift(norm, x, scale, shift, norm_type=norm_type)
        plain = mindiesd.fast_layernorm(norm, x)
    assert result.dtype == expected.dtype and plain.dtype == normed.dtype
    half = torch.bfloat16 in (dtype, scale_dtype)
    bound = {"rtol": 3e-2, "atol": 6e-2} if half else {"rtol": 4e-3, "atol": 4e-3}
    torch.testing.assert_close(result, expected, **bound)
    torch.testing.assert_close(plain, normed, **bound)


def test_it_is_one_operator(monkeypatch):
    norm = ByTypeAs(32)
    monkeypatch.setattr(F, "layer_norm", lambda *_: pytest.fail("the module was called"))
    ext.layernorm_scale_shift(norm, torch.randn(2, 5, 32), torch.randn(32), torch.randn(32))


@pytest.mark.parametrize("base", [nn.LayerNorm, ByTypeAs])
def test_a_call_of_the_class_s_own_is_made(base):
    class Sevens(base):
        def __call__(self, x):
            return torch.full_like(x, 7)

    x, scale = torch.randn(2, 32), torch.ones(32)
    assert mindiesd.fast_layernorm(Sevens(32), x).eq(7).all()
    assert ext.layernorm_scale_shift(Sevens(32), x, scale, scale).eq(15).all()


def test_torchs_own_forward_may_be_replaced(monkeypatch):
    norm, x = ByTypeAs(32), torch.randn(2, 32)
    assert merely_casts(ByTypeAs)
    monkeypatch.setattr(nn.LayerNorm, "forward", lambda self, x: torch.full_like(x, 7))
    assert mindiesd.fast_layernorm(norm, x).eq(7).all()


@pytest.mark.parametrize("norm_type", [None, "float32"])
def test_integers_stay_integers(norm_type):
    norm, x, scale = ByTypeAs(32), torch.arange(64).reshape(2, 32), torch.randn(32)
    normed = norm(x) if norm_type is None else norm(x).float()
    result = ext.layernorm_scale_shift(norm, x, scale, scale, norm_type=norm_type)
    torch.testing.assert_close(result, normed * (1 + scale) + scale)
    assert mindiesd.fast_layernorm(norm, x).dtype == torch.int64


def test_hooks_are_called():
    norm = ByTypeAs(32)
    seen = []
    norm.register_forward_hook(lambda *args: seen.append(args))
    scale = torch.randn(32)
    for norm_type in (None, "float32"):
        ext.layernorm_scale_shift(norm, torch.randn(2, 32), scale, scale, norm_type=norm_type)
    assert len(seen) == 2


def test_an_unknown_type_is_named():
    with pytest.raises(mindiesd.utils.ParametersInvalid, match="norm_type"):
        ext.layernorm_scale_shift(
            nn.LayerNorm(8), torch.randn(2, 8), torch.randn(8), norm_type="float16"
        )


def test_torch_compile_calls_the_module():
    norm = ByTypeAs(32).requires_grad_(False)
    x, scale = torch.randn(2, 32), torch.randn(32)

    def run(x, scale):
        return ext.layernorm_scale_shift(norm, x, scale, scale)

    compiled = torch.compile(run, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x, scale), run(x, scale))
