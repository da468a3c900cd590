"""What Python's scopes, effects and classes make of the forms that rules look for."""
# ruff: noqa

import contextlib
import functools

import torch
import torch.nn.functional as F
from torch import nn


def walrus_in_mean(x, w):
    return (y := x * 2) * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6), y


def walrus_changes(x, w):
    return x * torch.rsqrt((x := x + 1).pow(2).mean(-1, keepdim=True) + 1e-6) * x


def walrus_gelu(x, w):
    return F.gelu(y := x + w) + y


def comprehension_shadow(x, w):
    parts = [F.gelu(x) for x in (x, w)]
    return parts[0] + parts[1] + x


def comprehension_rms(x, w):
    out = [t * torch.rsqrt(t.pow(2).mean(-1, keepdim=True) + 1e-6) for t in (x, w.expand_as(x))]
    return torch.stack(out)


def comprehension_late(x, w):
    fs = [lambda t: F.gelu(t) * i for i in range(3)]
    return fs[0](x)


def generator_order(x, w):
    x = x.clone()

    def parts():
        yield x.pow(2).mean(-1, keepdim=True)
        x.mul_(2)
        yield torch.zeros(())

    it = parts()
    var = next(it)
    next(it)
    return x * torch.rsqrt(var + 1e-6)


def try_finally(x, w):
    y = x
    try:
        var = y.pow(2).mean(-1, keepdim=True)
        return y * torch.rsqrt(var + 1e-6)
    finally:
        y = y + 1


def finally_overrides(x, w):
    try:
        return F.gelu(x)
    finally:
        return x + 1


def try_partial(x, w):
    y = x
    try:
        y = y * 2
        var = y.pow(2).mean(-1, keepdim=True)
        y = y.view(3, 5, 7)
    except RuntimeError:
        var = w.pow(2).mean(-1, keepdim=True)
    return y * torch.rsqrt(var + 1e-6)


def deleted_name(x, w):
    y = x * 2
    z = y.pow(2).mean(-1, keepdim=True)
    keep = y
    del y
    y = w
    return keep * torch.rsqrt(z + 1e-6) * y


_scale = 1.0


def uses_global(x, w):
    global _scale
    _scale = 2.0
    y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
    _scale = 3.0
    return y * _scale


def uses_nonlocal(x, w):
    y = x

    def change():
        nonlocal y
        y = y + 1
        return 0.0

    var = y.pow(2).mean(-1, keepdim=True) + change()
    return y * torch.rsqrt(var + 1e-6)


def nonlocal_between_qk(q, k, v):
    def change():
        nonlocal k
        k = k * 2

    s = q @ k.transpose(-1, -2)
    change()
    p = s.softmax(-1)
    return p @ v + k.sum()


def cached_result(x, w):
    @functools.lru_cache
    def var():
        return x.pow(2).mean(-1, keepdim=True)

    first = var()
    return x * torch.rsqrt(first + 1e-6), torch.tensor(var() is first)


class Meta(type):
    def __call__(cls, *a, **k):
        made = super().__call__(*a, **k)
        made.scale = 3.0
        return made


class Scaled(nn.LayerNorm, metaclass=Meta):
    def forward(self, x):
        return super().forward(x) * self.scale


def metaclass_norm(x, w):
    return Scaled(8)(x)


class Getattr(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.LayerNorm(8)

    def __getattr__(self, name):
        if name == "norm":
            return lambda t: t * 2
        return super().__getattr__(name)

    def forward(self, x):
        return self.norm(x) * (1 + x) + x


def getattr_norm(x, w):
    return Getattr()(x)


class Prop(nn.Module):
    def __init__(self):
        super().__init__()
        self._n = nn.LayerNorm(8)
        self.count = 0

    @property
    def norm(self):
        self.count += 1
        return (lambda t: t * self.count)

    def forward(self, x):
        a = self.norm(x)
        return a * (1 + x) + x


def property_norm(x, w):
    return Prop()(x)


class Mixin:
    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


class WithMixin(Mixin, nn.Module):
    def __init__(self):
        super().__init__()
        self.eps = 0.5

    def forward(self, x):
        return self._norm(x)


class Overrides(WithMixin):
    def _norm(self, x):
        return x * 5


def mixin(x, w):
    return WithMixin()(x), Overrides()(x)


class Swapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.GELU()
        if self.training:
            self.act = nn.Identity()

    def forward(self, x):
        return self.act(x)


def swapped(x, w):
    return Swapped()(x)


class ClassBody(nn.Module):
    F = None
    act = staticmethod(F_gelu := lambda t: t + 1)

    def forward(self, x):
        return self.act(x)


def class_body(x, w):
    return ClassBody()(x)


class Shadow(nn.Module):
    def forward(self, x, F=torch):
        return F.sigmoid(x) * x


def default_shadows(x, w):
    return Shadow()(x)


def parameter_shadow(x, w):
    def act(x, F):
        return F.gelu(x)

    class G:
        @staticmethod
        def gelu(t):
            return t + 5

    return act(x, G)


def local_import(x, w):
    import torch.nn as F

    return F.functional.gelu(x)


def loop_rebinds(x, w):
    var = x.pow(2).mean(-1, keepdim=True)
    for _ in range(2):
        x = x + 1
    return x * torch.rsqrt(var + 1e-6)


def loop_carried(x, w):
    out = x
    for _ in range(2):
        out = out * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        x = out + 1
    return out


def while_changed(x, w):
    i = 0
    y = x
    while i < 2:
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
        i += 1
    return y


def conditional_var(x, w):
    var = x.pow(2).mean(-1, keepdim=True)
    if x.shape[0] > 1:
        var = var + 1
    return x * torch.rsqrt(var + 1e-6)


def inplace_between(x, w):
    var = x.pow(2).mean(-1, keepdim=True)
    x.add_(1)
    return x * torch.rsqrt(var + 1e-6)


def inplace_through_view(x, w):
    view = x[0]
    var = x.pow(2).mean(-1, keepdim=True)
    view += 1
    return x * torch.rsqrt(var + 1e-6)


def inplace_through_list(x, w):
    box = [x]
    var = x.pow(2).mean(-1, keepdim=True)
    box[0][:, 0] = 0
    return x * torch.rsqrt(var + 1e-6)


def inplace_by_call(x, w):
    def change(t):
        t[0] = 3

    var = x.pow(2).mean(-1, keepdim=True)
    change(x)
    return x * torch.rsqrt(var + 1e-6)


def inplace_by_out(x, w):
    y = x.clone()
    var = y.pow(2).mean(-1, keepdim=True)
    torch.add(y, 1, out=y)
    return y * torch.rsqrt(var + 1e-6)


def inplace_relu(x, w):
    var = x.pow(2).mean(-1, keepdim=True)
    F.relu(x, inplace=True)
    return x * torch.rsqrt(var + 1e-6)


def inplace_data(x, w):
    var = x.pow(2).mean(-1, keepdim=True)
    x.data = x.data + 1
    return x * torch.rsqrt(var + 1e-6)


def integer_rms(x, w):
    n = (x * 10).long().float()
    return n * torch.rsqrt(n.pow(2).mean(-1, keepdim=True) + 1e-6)


def double_rms(x, w):
    d = x.double()
    return d * torch.rsqrt(d.pow(2).mean(-1, keepdim=True) + 1e-12)


def half_rms(x, w):
    d = x.half() * 300
    return d * torch.rsqrt(d.float().pow(2).mean(-1, keepdim=True) + 1e-6)


def scalar_tensor_w(x, w):
    n = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
    return n * w[0]


def broadcast_w(x, w):
    n = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
    return n * w[:, None, None, None]


def broadcast_w_rows(x, w):
    n = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
    return n * w[:6, None]


def eps_broadcast(x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + w.abs())


def eps_column(x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + w.abs()[:6, None])


def no_keepdim(x, w):
    y = x[:1, :1]
    return y * torch.rsqrt(y.pow(2).mean(-1) + 1e-6)


def square_matrix(x, w):
    y = x[0, :6, :6]
    return y * torch.rsqrt(y.pow(2).mean(-1) + 1e-6)


def dim_name(x, w):
    return x * torch.rsqrt(x.pow(2).mean(dim=(-1,), keepdim=True) + 1e-6)


def dim_two(x, w):
    return x * torch.rsqrt(x.pow(2).mean(dim=(-1, -2), keepdim=True) + 1e-6)


def dim_variable(x, w):
    d = 1
    return x * torch.rsqrt(x.pow(2).mean(d, keepdim=True) + 1e-6)


def unbiased(x, w):
    return x * torch.rsqrt(x.var(-1, keepdim=True) + 1e-6)


def other_tensor(x, w):
    y = x.flip(0)
    return x * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)


def star_args(x, w):
    args = (x,)
    return F.gelu(*args)


def star_args_changed(x, w):
    args = [x]
    args.append("tanh")
    return F.gelu(args[0], approximate=args[1])


def kw_splat(x, w):
    options = dict(approximate="tanh")
    return F.gelu(x, **options)


def kw_splat_literal(x, w):
    options = {"approximate": "tanh"}
    return F.gelu(x, **options)


def kw_splat_changed(x, w):
    options = {"approximate": "tanh"}
    options["approximate"] = "none"
    return F.gelu(x, **options)


def partial_gelu(x, w):
    act = functools.partial(F.gelu, approximate="tanh")
    return act(x)


def getattr_gelu(x, w):
    return getattr(F, "gelu")(x)


def conditional_act(x, w):
    act = F.gelu if x.shape[0] > 5 else F.silu
    return act(x)


def chained_compare(x, w):
    y = z = F.gelu(x)
    y += 1
    return z


def gelu_then_inplace(x, w):
    y = F.gelu(x)
    y.mul_(2)
    return y, x


def silu_gate_same(x, w):
    return F.silu(x) * F.silu(x)


def silu_gate_alias(x, w):
    a, b = x.chunk(2, -1)
    g = F.silu(a)
    b.add_(1)
    return g * b


def silu_gate_alias_first(x, w):
    a, b = x.chunk(2, -1)
    g = F.silu(a)
    a.add_(1)
    return g * b


def silu_gate_types(x, w):
    a, b = x.chunk(2, -1)
    return F.silu(a.bfloat16()) * b


def silu_gate_types_back(x, w):
    a, b = x.chunk(2, -1)
    return F.silu(a.float()).bfloat16() * b


def silu_gate_broadcast(x, w):
    a, b = x.chunk(2, -1)
    return F.silu(a[:1]) * b


def silu_gate_scalar(x, w):
    a, b = x.chunk(2, -1)
    return F.silu(a) * b[0, 0, 0]


def gate_integer(x, w):
    a, b = x.chunk(2, -1)
    return F.gelu(a) * (b * 3).long()


def silu_inplace(x, w):
    a, b = x.chunk(2, -1)
    y = F.silu(a, inplace=True) * b
    return y + a


@contextlib.contextmanager
def doubled(t):
    t.mul_(2)
    yield
    t.div_(2)


def under_context(x, w):
    var = x.pow(2).mean(-1, keepdim=True)
    with doubled(x):
        y = x * torch.rsqrt(var + 1e-6)
    return y


def match_statement(x, w):
    match x.shape:
        case (2, *rest):
            y = x
        case _:
            y = w
    var = y.pow(2).mean(-1, keepdim=True)
    return y * torch.rsqrt(var + 1e-6)


def star_unpack(x, w):
    a, *b = x.unbind(0)
    return a * torch.rsqrt(a.pow(2).mean(-1, keepdim=True) + 1e-6), b[0]


def swap_names(x, w):
    a, b = x.chunk(2, -1)
    a, b = b, a
    return F.silu(a) * b


def augmented_alias(x, w):
    y = x
    y += 1
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


def augmented_fresh(x, w):
    y = x * 1
    y += 1
    return x * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)


def softmax_guard_inplace(x, w):
    m = x.amax(-1, keepdim=True)
    x.sub_(m)
    return F.softmax(x, -1), x


def softmax_guard_read(x, w):
    y = x - x.amax(-1, keepdim=True)
    p = F.softmax(y, -1)
    return p, y


def softmax_guard_written(x, w):
    y = x - x.amax(-1, keepdim=True)
    y[..., 0] = 100
    return F.softmax(y, -1)


def softmax_guard_masked(x, w):
    y = x - x.amax(-1, keepdim=True)
    y = y.masked_fill(w > 0, float("-inf"))
    return F.softmax(y, -1)


def softmax_guard_masked_first(x, w):
    y = x.masked_fill(w > 0, float("-inf"))
    y = y - y.amax(-1, keepdim=True)
    return F.softmax(y, -1)


def softmax_guard_of_masked(x, w):
    z = x.masked_fill(w > 0, 50.0)
    y = x - z.amax(-1, keepdim=True)
    return F.softmax(y, -1)


def softmax_clamp_both(x, w):
    y = x.clamp(-0.5, 0.5)
    return F.softmax(y, -1)


def softmax_clamp_tensor(x, w):
    y = torch.clamp(x, min=w)
    return F.softmax(y, -1)


def softmax_clamp_after(x, w):
    return F.softmax(x, -1).clamp(min=0.2)


def softmax_clamp_scaled(x, w):
    return F.softmax(x.clamp(min=-0.1) * 3, -1)


def softmax_dtype(x, w):
    y = x - x.amax(-1, keepdim=True)
    return F.softmax(y, -1, dtype=torch.float64)


def softmax_half(x, w):
    y = x.half() * 50
    y = y - y.amax(-1, keepdim=True)
    return F.softmax(y, -1)


def softmax_half_overflow(x, w):
    y = x.half() * 20000
    y = (y * 2).clamp(min=-60000, max=60000)
    return F.softmax(y, -1)


def softmax_integer(x, w):
    y = (x * 10).long()
    y = y - y.amax(-1, keepdim=True)
    return F.softmax(y.float(), -1)


def log_softmax_guard(x, w):
    y = x - x.amax(-1, keepdim=True)
    return F.log_softmax(y, -1)


def softmin_guard(x, w):
    y = x - x.amax(-1, keepdim=True)
    return F.softmin(y, -1)
