"""Watches one forward pass and says which attention, rotary and norm computations ran, and how.

Entry point: `Observer`, a context manager. Inside it, a torch function mode follows the values that
Python code computes and records an `Event` wherever one of the old ways runs: a call of
scaled_dot_product_attention or rms_norm, the arithmetic of a root-mean-square norm, or that of a
rotation. A torch dispatch mode counts the runtime's operators (`mindiesd::*`) and the kernels of
torch that the runtime replaces. `kernels_below` looks once more with the profiler, which also sees
what an operator calls inside itself, where modes are blind.

The telltales name no library function of diffusers, so they hold for original and migrated code
alike; tests/endtoend/test_models.py checks on the original that each fires as often as the
configuration implies.
"""

import collections
import dataclasses
import os
import sys

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

# Attribute under which a followed tensor carries what is known of its value.
MARK = "_observed_value"

# Operations that change shape or type but leave the value the one that the mark describes.
TRANSPARENT = frozenset(
    "to float half bfloat16 double type type_as contiguous clone reshape view view_as flatten "
    "unflatten unsqueeze squeeze expand expand_as transpose permute movedim".split()
)

RMS_NORM = 1  # the argument `kind` of the runtime's operators of modulated norms: an RMSNorm

# Which kind of computation a runtime operator stands for, by a word in its name.
RUNTIME_KINDS = (
    ("rotary", "rotary"),
    ("rope", "rotary"),
    ("joint_heads", "rotary"),  # of the one query or key that norm_rotary or norm_cat hands it
    ("rms", "norm"),
    ("attention", "attention"),
)

# Kernels of torch that a migrated model must not reach any more, by the kind they belong to.
TORCH_KERNELS = {
    "scaled_dot_product_attention": "attention",
    "_scaled_dot_product_attention_math": "attention",
    "_scaled_dot_product_flash_attention": "attention",
    "_scaled_dot_product_flash_attention_for_cpu": "attention",
    "_scaled_dot_product_efficient_attention": "attention",
    "_scaled_dot_product_cudnn_attention": "attention",
    "_scaled_dot_product_fused_attention_overrideable": "attention",
    "rms_norm": "norm",
    "_fused_rms_norm": "norm",
}


@dataclasses.dataclass
class Event:
    """One computation that ran the old way.

    kind is attention, rotary or norm; how is the telltale; frames are "file:line" inside the
    observed package, innermost first; shape is the query's for attention and the input's otherwise.
    """

    kind: str
    how: str
    frames: list[str]
    shape: list[int]


def runtime_kind(operator: str) -> str:
    """The kind of a runtime operator's name ("rotary"), or "other"; of "rms_norm in …" that of the norm."""
    own = operator.split(" in ")[0]
    for word, kind in RUNTIME_KINDS:
        if word in own:
            return kind
    return "other"


def package_frames(package_dir: str) -> list[str]:
    """The call stack's frames inside package_dir as "file:line", innermost first."""
    frames = []
    frame = sys._getframe(1)
    prefix = os.path.join(package_dir, "")
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(prefix):
            frames.append(f"{name[len(prefix) :]}:{frame.f_lineno}")
        frame = frame.f_back
    return frames


def record_construction(package_dir: str) -> None:
    """Makes every torch.nn.RMSNorm remember where in package_dir it was built.

    A report names the construction of such a module, while the old way runs where it is called.
    """
    original = torch.nn.RMSNorm.__init__

    def init(self, *args, **kwargs):
        original(self, *args, **kwargs)
        self.built_at = package_frames(package_dir)

    torch.nn.RMSNorm.__init__ = init


class _Values(TorchFunctionMode):
    """Follows values through torch functions and records old-way events."""

    def __init__(self, package_dir: str):
        super().__init__()
        self.package_dir = package_dir
        self.events: list[Event] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = getattr(func, "__name__", "").strip("_")
        follow = _FOLLOWERS.get(name)
        if follow is not None:
            follow(self, args, kwargs, result)
        elif name in TRANSPARENT and args and isinstance(result, torch.Tensor):
            mark = _mark(args[0])
            if mark is not None and _mark(result) is None:
                setattr(result, MARK, mark)
        return result

    def record(self, kind, how, tensor):
        frames = package_frames(self.package_dir) + _constructor_of_running_norm()
        self.events.append(Event(kind, how, frames, list(tensor.shape)))


def _constructor_of_running_norm() -> list[str]:
    frame = sys._getframe(1)
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, torch.nn.RMSNorm):
            return getattr(owner, "built_at", [])
        frame = frame.f_back
    return []


def _mark(value):
    return getattr(value, MARK, None) if isinstance(value, torch.Tensor) else None


def _is(value, what):
    mark = _mark(value)
    return mark is not None and mark[0] == what


def _set(result, what, detail=None):
    if isinstance(result, torch.Tensor):
        setattr(result, MARK, (what, detail))


def _storage(tensor):
    return tensor.untyped_storage().data_ptr()


def _attention(mode, args, kwargs, result):
    query = kwargs["query"] if "query" in kwargs else args[0]
    mode.record("attention", "scaled_dot_product_attention", query)


def _rms_norm(mode, args, kwargs, result):
    mode.record("norm", "rms_norm", result)


def _power(mode, args, kwargs, result):
    exponent = args[1] if len(args) > 1 else kwargs.get("exponent")
    if isinstance(exponent, (int, float)) and exponent == 2:
        _set(result, "square")
    elif (
        isinstance(exponent, (int, float)) and exponent == -0.5 and _is(args[0], "mean of squares")
    ):
        mode.record("norm", "power of a mean of squares", args[0])


def _square(mode, args, kwargs, result):
    _set(result, "square")


def _mean(mode, args, kwargs, result):
    if _is(args[0], "square"):
        _set(result, "mean of squares")


def _root(mode, args, kwargs, result):
    if _is(args[0], "mean of squares"):
        mode.record("norm", "root of a mean of squares", args[0])


def _product(mode, args, kwargs, result):
    left, right = args[0], args[1]
    if left is right:
        _set(result, "square")
    elif _is(left, "complex view") or _is(right, "complex view"):
        mode.record("rotary", "product of complex pairs", result)
    elif isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
        _set(result, "product")


def _sum(mode, args, kwargs, result):
    if _is(args[0], "mean of squares") or _is(args[1], "mean of squares"):
        _set(result, "mean of squares")
    elif _is(args[0], "product") and _is(args[1], "product"):
        _set(result, "sum of products")


def _difference(mode, args, kwargs, result):
    if _is(args[0], "product") and _is(args[1], "product"):
        _set(result, "difference of products")


def _negation(mode, args, kwargs, result):
    _set(result, "negation", _storage(args[0]))


def _join(mode, args, kwargs, result):
    parts = args[0] if args else kwargs.get("tensors")
    if not isinstance(parts, (list, tuple)) or len(parts) != 2:
        return
    first, second = parts
    if _is(first, "negation") and _mark(first)[1] == _storage(second):
        mode.record("rotary", "pair (-b, a) joined", result)
    elif _is(first, "difference of products") and _is(second, "sum of products"):
        mode.record("rotary", "rotated halves joined", result)


def _store(mode, args, kwargs, result):
    target, key, value = args[0], args[1], args[2]
    last = key[-1] if isinstance(key, tuple) else key
    if isinstance(last, slice) and last.step == 2 and _is(value, "difference of products"):
        mode.record("rotary", "strided store", target)


def _complex_view(mode, args, kwargs, result):
    _set(result, "complex view")


_FOLLOWERS = {
    "scaled_dot_product_attention": _attention,
    "rms_norm": _rms_norm,
    "pow": _power,
    "square": _square,
    "mean": _mean,
    "rsqrt": _root,
    "sqrt": _root,
    "mul": _product,
    "rmul": _product,
    "add": _sum,
    "radd": _sum,
    "sub": _difference,
    "neg": _negation,
    "cat": _join,
    "concat": _join,
    "stack": _join,
    "setitem": _store,
    "view_as_complex": _complex_view,
}


def _given(func, args) -> dict[str, object]:
    return dict(zip((a.name for a in func._schema.arguments), args, strict=False))


def _name_of(func, args) -> str:
    """The operator's name; of one that turns nothing in this call, that it does not."""
    name = func._schema.name.partition("::")[2]
    given = _given(func, args) if name == "joint_heads" else {}
    turns = not given or any(given[table] is not None for table in ("cos", "other_cos"))
    return name if turns else "heads that are joined and do not turn"


def _computations(func, args) -> int:
    """How many of its kind one call of an operator stands for: two streams that turn by tables which lie apart are two
    rotations, those that turn by the parts of one table are one."""
    if func._schema.name != "mindiesd::joint_heads":
        return 1
    given = _given(func, args)
    tables = [given[name] for name in ("cos", "other_cos") if given[name] is not None]
    return max(1, len({_storage(table) for table in tables}))


def _rms_norms_inside(func, args) -> int:
    """How many RMSNorms a fused operator of the runtime stands for: of the sum, and of the branch; or of what it
    rotates."""
    if func._schema.name == "mindiesd::norm_rotary":
        return 1
    given = _given(func, args)
    if func._schema.name == "mindiesd::joint_heads":
        if given["kind"] != RMS_NORM:
            return 0
        # A norm of one tensor of which a part turns is handed on for either part.
        weights = {
            name: given[name.removesuffix("eps") + "weight"]
            for name, value in given.items()
            if name.endswith("_eps") and value is not None
        }
        return len({name if w is None else w.data_ptr() for name, w in weights.items()})
    fused = given.get("kind") == RMS_NORM and "scale" in given
    return int(fused) + int(given.get("branch_eps") is not None)


class _Operators(TorchDispatchMode):
    """Counts runtime operators and records torch's own attention and norm kernels."""

    def __init__(self, package_dir: str):
        super().__init__()
        self.package_dir = package_dir
        self.runtime: collections.Counter[str] = collections.Counter()
        self.kernels: list[Event] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        namespace, _, name = func._schema.name.partition("::")
        if namespace == "mindiesd":
            name = _name_of(func, args)
            self.runtime[name] += _computations(func, args)
            if inside := _rms_norms_inside(func, args):
                self.runtime[f"rms_norm in {name}"] += inside
        elif namespace == "aten" and name in TORCH_KERNELS:
            frames = package_frames(self.package_dir) + _constructor_of_running_norm()
            self.kernels.append(
                Event(TORCH_KERNELS[name], f"aten::{name}", frames, list(args[0].shape))
            )
        return func(*args, **(kwargs or {}))


class Observer:
    """Observes what runs inside the `with` block.

    package_dir: absolute path of the package directory whose frames name the sites. Afterwards:
    `events` (old-way computations), `kernels` (torch kernels reached by any Python path) and
    `runtime` (how often each mindiesd operator ran, by name without the namespace, and how many
    RMSNorms were in it).
    """

    def __init__(self, package_dir: str):
        self._values = _Values(package_dir)
        self._operators = _Operators(package_dir)

    def __enter__(self):
        self._operators.__enter__()
        self._values.__enter__()
        return self

    def __exit__(self, *error):
        self._values.__exit__(*error)
        self._operators.__exit__(*error)

    @property
    def events(self) -> list[Event]:
        return self._values.events

    @property
    def kernels(self) -> list[Event]:
        return self._operators.kernels

    @property
    def runtime(self) -> dict[str, int]:
        return dict(self._operators.runtime)


def kernels_below(run) -> dict[str, int]:
    """Calls run() under the profiler; how often each kernel of TORCH_KERNELS ran, by name.

    Unlike the modes, the profiler also sees calls from inside a custom operator.
    """
    with torch.autograd.profiler.profile() as profile:
        run()
    names = collections.Counter(event.name for event in profile.function_events)
    return {name: names[f"aten::{name}"] for name in TORCH_KERNELS if names[f"aten::{name}"]}
