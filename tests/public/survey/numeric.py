"""Runs what migration rewrote beside what stood there before, on random tensors, and compares.

Entry points: `cases` (what there is to run in one migrated package) and `run`. A case is a function
that holds rewritten sites. It is run whole, called with drawn arguments, or, where that cannot be
(a model's forward), only the statements that differ are, with drawn values for the names they read.
Arguments are found by trial: layouts and table shapes that the original accepts are given to both.

The rule is that of SEMANTICS 1: against a float64 reference, the largest and the root-mean-square
error are each at most 1.25 times the original's, or 2 units in the last place of the result's type.
"""

import ast
import contextlib
import dataclasses
import inspect
import itertools
import re
import types

import torch

from survey import draws, emulated, extract, instances, pairs, regions

FACTOR = 1.25
UNITS = 2
ACCEPTED = 2  # kinds of input compared for each pair of types,
SEEDS = 2  # each with so many draws, and
MORE_SEEDS = 32  # so many where those are too few to tell a worse error from an unlucky draw
_KINDS = (("rms", "norm"), ("rotary", "rotary"), ("attention", "attention"), ("flash", "attention"))
# What a region of each kind holds after migration.
WRITTEN = {
    "attention": ("attention_forward",),
    "rotary": ("mindiesd.rotary", "mindiesd.ext.rotary", "mindiesd.ext.norm_rotary"),
    "norm": ("rms_norm", "RMSNorm", "norm_scale_shift"),
}
_MASKS = {False: (None, "bool", "float"), True: (None, "float")}
MOCKS = ("self", "cls", "attn", "module", "config", "args", "cfg")
TRIALS = 900  # assignments tried until one is found that the original takes, and after it
MORE_TRIALS = 120  # so many for the kinds of masks that are still missing
# Type of the tensors, type of tables and parameters.
TYPES = (
    (torch.float32, torch.float32),
    (torch.bfloat16, torch.bfloat16),
    (torch.bfloat16, torch.float32),
)


@dataclasses.dataclass(frozen=True)
class Case:
    """A function with rewritten sites. kind: attention, rotary or norm; key: equal for equal code;
    floating_masks: whether a site in it assumes that."""

    file: str
    owner: str
    kind: str
    key: str
    floating_masks: bool = False


@dataclasses.dataclass
class Outcome:
    """compared: inputs on which both ran; wrong: what differed; why: why nothing could be run."""

    compared: int = 0
    wrong: str = ""
    why: str = ""


class Difference(Exception):
    """Original and rewritten code differ."""


def cases(done) -> list[Case]:
    """Every function of a migrated package that holds a site rewritten in it."""
    found: dict[tuple, Case] = {}
    trees: dict[str, ast.Module] = {}
    for site in done.report.sites:
        if site["outcome"] != "rewritten" or site["through"] is not None:
            continue
        kind = kind_of(site["rule"])
        if kind is None:
            continue
        file = site["file"]
        if file not in trees:
            trees[file] = ast.parse((done.before / file).read_text(encoding="utf-8"))
        around = regions.owner_at(trees[file], site["line"])
        if around is None:
            continue
        owner, node, head = around
        key = pairs.normalise(ast.unparse(head if kind == "norm" else node))
        assumed = "the mask is floating" in site["assumes"]
        known = found.get((file, owner, kind))
        floating = assumed or (known is not None and known.floating_masks)
        found[file, owner, kind] = Case(file, owner, kind, f"{kind} {key}", floating)
    return list(found.values())


def kind_of(rule: str) -> str | None:
    """attention, rotary, norm (RMSNorm), or None for what this harness does not count."""
    for word, kind in _KINDS:
        if word in rule:
            return kind
    return None


class Runner:
    """Both versions of one package's sources, and the original in float64."""

    def __init__(self, done):
        self.before = extract.Sources(done.before, special=emulated.special)
        self.wide = extract.Sources(done.before, wide=True, special=emulated.special)
        self.after = extract.Sources(done.after, special=emulated.special)

    def run(self, case: Case) -> Outcome:
        """Runs one case whole, or else the statements that differ."""
        ways = (self._whole, self._regions)
        reasons = []
        for way in ways if case.kind != "attention" else reversed(ways):
            try:
                compared = way(case)
            except Difference as difference:
                return Outcome(wrong=str(difference))
            except Exception as error:  # whatever the package's code raises is a reason
                reasons.append(f"{type(error).__name__}: {error}")
                continue
            if compared:
                return Outcome(compared=compared)
            reasons.append("no drawn input fits")
        return Outcome(why="; ".join(dict.fromkeys(reasons))[:300])

    def _whole(self, case: Case) -> int:
        found = [
            sources.definition(case.file, case.owner)
            for sources in (self.before, self.after, self.wide)
        ]
        functions = [function for function, _ in found]
        classes = [cls for _, cls in found]
        if isinstance(functions[0], type) or case.owner.endswith("__init__"):
            return 0
        if classes[0] is not None and (size := instances.size(classes[0])) > instances.MOST:
            raise ValueError(f"its object has {size} parameters; at most {instances.MOST} are drawn")
        parameters = list(inspect.signature(functions[0]).parameters.values())
        is_method = classes[0] is not None and not _is_static(classes[0], case.owner)
        if is_method:
            parameters = parameters[1:]
        names = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        defaults = {p.name: p.default for p in parameters if p.default is not p.empty}

        def prepare(draw):
            if not is_method:
                return functions
            selves = instances.drawn(classes, draw)
            return [types.MethodType(f, self) for f, self in zip(functions, selves, strict=True)]

        def call(function, values):
            # Parameters with a default come last and may be absent from `values`.
            return function(**values)

        attention, rotary = case.kind == "attention", case.kind == "rotary"
        rules = Rules(
            averages=attention,
            preserving=rotary,
            floating_masks=case.floating_masks,
            complex_tables="complex" in case.key,
        )
        return _compare_all(names, defaults, prepare, call, rules)

    def _regions(self, case: Case) -> int:
        nodes = [
            sources.path(case.file, case.owner)[-1][0] for sources in (self.before, self.after)
        ]
        compared = 0
        for region in regions.between(*nodes):
            text = "".join(ast.unparse(statement) for statement in region.after)
            if not any(word in text for word in WRITTEN[case.kind]):
                continue  # another rule's
            one = self._region(case, region)
            if not one:
                return 0
            compared += one
        return compared

    def _region(self, case: Case, region: "regions.Region") -> int:
        modules = [
            sources.module(case.file) for sources in (self.before, self.after, self.wide)
        ]
        blocks = [
            regions.compiled(statements, wide)
            for statements, wide in (
                (region.before, False), (region.after, False), (region.before, True),
            )
        ]  # fmt: skip
        names = [name for name in region.reads if name not in modules[0].bindings]
        _expect_norms(region)
        try:
            classes = [
                sources.definition(case.file, case.owner)[1]
                for sources in (self.before, self.after, self.wide)
            ]
        except (AttributeError, TypeError):  # the class cannot be made here
            classes = [None] * 3
        replaced = set(blocks[0].co_names) - set(blocks[1].co_names)
        real_methods = True

        def prepare(draw):
            return list(zip(blocks, modules, classes, strict=True))

        def call(block, values):
            code, module, cls = block
            if real_methods and isinstance(values.get("self"), draws.Mock) and cls is not None:
                _give_methods(values["self"], cls, replaced)
            scope = regions.Scope(module, values)
            # The published functions take 4 dimensions; that there are 4 is shown outside the region.
            with _four_dimensions() if published and code is blocks[0] else contextlib.nullcontext():
                exec(code, scope)
            return [scope[name] for name in region.writes if name in scope] + regions.modules_of(
                values, scope.attributes_before
            )

        text = "".join(ast.unparse(statement) for statement in region.after)
        published = "mindiesd.attention_forward(" in text or "mindiesd.rotary_" in text
        old = "".join(ast.unparse(statement) for statement in region.before)
        shapes = any(word in old for word in ("view(", "reshape(", "unflatten(", "rearrange("))
        rules = Rules(
            ranks=frozenset({4}) if published and (len(region.after) == 1 or not shapes) else None,
            # Attention may stand among the lines of another kind.
            averages="attention_forward(" in text,
            preserving=case.kind == "rotary",
            numbers=case.owner.endswith("__init__"),
            floating_masks=case.floating_masks,
            complex_tables="complex" in case.key,
        )
        if compared := _compare_all(names, {}, prepare, call, rules):
            return compared
        real_methods = False  # they ask more of their object than is drawn
        return _compare_all(names, {}, prepare, call, rules)


def _expect_norms(region: "regions.Region") -> None:
    """A norm that a rotation takes over must be among the statements before: only then is the whole one
    function."""
    old, new = ("".join(map(ast.unparse, part)) for part in (region.before, region.after))
    apart = [norm for norm in re.findall(r"norm_rotary\(([\w.]+)", new) if f"{norm}(" not in old]
    if apart:
        raise ValueError(f"{apart[0]}, which the rotation takes over, is called by statements apart")


def _give_methods(drawn, cls: type, names: set[str]) -> None:
    """A drawn `self` calls these methods of its class where they are its own: code that takes their
    place computes what they do, and not what a mock pretends."""
    for name in names:
        method = vars(cls).get(name)
        if isinstance(method, staticmethod):
            drawn.__dict__[name] = method.__func__
        elif isinstance(method, types.FunctionType):
            drawn.__dict__[name] = types.MethodType(method, drawn)


def _is_static(cls: type, owner: str) -> bool:
    return isinstance(inspect.getattr_static(cls, owner.rpartition(".")[2], None), staticmethod)


@dataclasses.dataclass(frozen=True)
class Rules:
    """What is to be drawn and how results are judged.

    ranks: the ranks of tensors to try, None for all. averages: the results are weighted means of
    inputs, so errors count relative to the inputs' magnitude rather than to the mean's.
    preserving: results must have the shape of an input, unless no drawn input gives that. numbers:
    names that say nothing are sizes, as in a constructor. floating_masks: no boolean ones.
    complex_tables: the code makes complex numbers, so its tables may be complex.
    """

    ranks: frozenset | None = None
    averages: bool = False
    preserving: bool = False
    numbers: bool = False
    floating_masks: bool = False
    complex_tables: bool = False


def _compare_all(names, defaults, prepare, call, rules: Rules) -> int:
    """Tries assignments until enough fit; how many inputs were compared. Raises Difference."""
    for preserving in (True, False) if rules.preserving else (False,):
        fitting = _fitting(names, defaults, prepare, call, rules, preserving)
        if fitting:
            return sum(_compare(fitting, types_, prepare, call, rules) for types_ in TYPES)
    return 0


def _fitting(names, defaults, prepare, call, rules, preserving) -> list:
    """The first assignments that the original takes; where it has a mask, one with each kind of mask
    that it takes, for without one the mask might as well be lost."""
    candidates = list(assignments(names, defaults, rules))
    masks = {assign.mask for assign in candidates}
    wanted = dict.fromkeys(masks, ACCEPTED if len(masks) == 1 else 1)
    found: list = []
    last = TRIALS
    for seed, assign in enumerate(candidates):
        if seed > last or not any(wanted.values()):
            break
        if found and assign.kind != found[0].kind:
            break  # a function that takes pairs of tables may unpack a complex one, in vain
        if wanted[assign.mask] and _takes(assign, seed, prepare, call, preserving):
            found.append(assign)
            wanted[assign.mask] -= 1
            last = min(last, seed + MORE_TRIALS)
    return found


def _takes(assign, seed, prepare, call, preserving) -> bool:
    """Whether the original computes something sensible from an assignment."""
    draw = draws.Draw(seed, *TYPES[0])
    try:
        with torch.no_grad():
            function = prepare(draw)[0]
            values = assign(draw)
            results = tensors(call(function, copied(values)))
    except Exception:  # this input is none that the original takes
        return False
    shapes = {tuple(t.shape) for t in tensors(list(values.values()))}
    if not results or not all(t.isfinite().all() for t in results if t.is_floating_point()):
        return False
    if not shapes:
        return True
    return _no_larger(results, shapes) and (
        not preserving or all(tuple(t.shape) in shapes for t in results)
    )


def _compare(fitting, types_, prepare, call, rules) -> int:
    """Compares both versions on the assignments in these types. Errors are pooled over the draws,
    as over one tensor; the largest of few numbers says little, so that more decide where they fail."""
    pool: dict = {}
    compared = 0
    for first, last in ((0, SEEDS), (SEEDS, MORE_SEEDS)):
        for seed in range(first * len(fitting), last * len(fitting)):
            assign = fitting[seed % len(fitting)]
            compared += _compare_one(assign, 1000 + seed, types_, prepare, call, rules, pool)
        worse = _worse(pool)
        if not worse:
            return compared
    raise Difference(worse)


def _compare_one(assign, seed, types_, prepare, call, rules, pool) -> bool:
    """Compares both versions on one draw; whether the original takes it in these types."""
    draw = draws.Draw(seed, *types_)
    functions = prepare(draw)
    values = assign(draw)
    with torch.no_grad():
        try:
            before = tensors(call(functions[0], copied(values)))
        except Exception:  # not in these types
            return False
        if not all(t.isfinite().all() for t in before if t.is_floating_point()):
            return False
        exact = tensors(call(functions[2], _widened(copied(values))))
        after = _after(call, functions[1], values)
    _judge(before, after, exact, values, rules, pool)
    return True


def _worse(pool) -> str:
    """Which pooled error breaks the accuracy rule, "" if none does."""
    for (kind, dtype), (was, now, shown) in pool.items():
        if not now <= max(FACTOR * was, UNITS * torch.finfo(dtype).eps):
            return f"{kind} error {now:.3g} where the original's is {was:.3g} ({dtype}); {shown}"
    return ""


def _after(call, function, values):
    try:
        return tensors(call(function, copied(values)))
    except Exception as error:
        raise Difference(f"raises {type(error).__name__}: {error}; {described(values)}") from error


def _no_larger(results, shapes) -> bool:
    """Whether a result is no larger than the inputs: where small ones broadcast beyond the largest,
    the drawn shapes do not belong together."""
    most = max(torch.Size(shape).numel() for shape in shapes)
    return all(t.numel() <= most for t in results)


def _judge(before, after, exact, values, rules, pool) -> None:
    """Compares types and shapes, and notes the errors of both in `pool`."""
    if len(after) != len(before):
        raise Difference(f"{len(before)} results became {len(after)}; {described(values)}")
    inputs = [t for t in tensors(values) if t.is_floating_point()] if rules.averages else []
    for old, new, true in zip(before, after, exact, strict=True):
        if (old.dtype, old.shape) != (new.dtype, new.shape):
            raise Difference(
                f"{old.dtype} {tuple(old.shape)} became {new.dtype} {tuple(new.shape)}; "
                f"{described(values)}"
            )
        if not old.is_floating_point() and not old.is_complex():
            if not torch.equal(old, new):
                raise Difference(f"integers differ; {described(values)}")
            continue
        for measure in (_largest, _root_mean_square):
            # Weighted means: the sum of magnitudes is at most that of the inputs.
            scale = max([measure(true), *map(measure, inputs)]) or 1.0
            was, now = (measure(t.to(true.dtype) - true) / scale for t in (old, new))
            key = (measure.__name__.strip("_").replace("_", " "), old.dtype)
            worst = pool.get(key, (0.0, 0.0, ""))
            shown = described(values) if now >= worst[1] else worst[2]
            pool[key] = (max(was, worst[0]), max(now, worst[1]), shown)


def _largest(tensor) -> float:
    return float(tensor.abs().max()) if tensor.numel() else 0.0


def _root_mean_square(tensor) -> float:
    return float(tensor.abs().square().mean().sqrt()) if tensor.numel() else 0.0


def tensors(value) -> list[torch.Tensor]:
    """Every tensor in a result, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for part in value for tensor in tensors(part)]
    return []


def copied(value):
    """The value with fresh tensors: what the code writes into stays its own."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, dict):
        return {name: copied(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(copied(part) for part in value)
    if isinstance(value, draws.Mock):
        return draws.Mock(**value.__dict__)
    return value


def _widened(value):
    if isinstance(value, torch.Tensor):
        if value.is_complex():
            return value.to(torch.complex128)
        return value.double() if value.is_floating_point() else value
    if isinstance(value, dict):
        return {name: _widened(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_widened(part) for part in value)
    if isinstance(value, draws.Mock):
        return draws.Mock(**value.__dict__)
    return value


def described(values: dict) -> str:
    shown = []
    for name, value in values.items():
        if isinstance(value, torch.Tensor):
            shown.append(f"{name}: {value.dtype} {tuple(value.shape)}")
        elif isinstance(value, tuple) and value and isinstance(value[0], torch.Tensor):
            shown.append(f"{name}: tuple of {value[0].dtype} {tuple(value[0].shape)}")
        elif not isinstance(value, draws.Mock):
            shown.append(f"{name}={value!r}")
    return ", ".join(shown)


def assignments(names, defaults, rules: Rules):
    """Functions from a Draw to a value for every name, each with another layout, table or flag."""
    roles = {name: role(name, defaults, rules.numbers) for name in names}
    has = set(roles.values())
    layouts = [
        item for item in draws.LAYOUTS.items() if rules.ranks is None or len(item[1]) in rules.ranks
    ]
    kinds = ("pair", "complex" if rules.complex_tables else "angles", "matrices", "stacked")
    products = itertools.product(
        kinds if "frequencies" in has else (None,),
        draws.TABLES if has & {"table", "frequencies"} else (None,),
        layouts if has & {"tensor", "mask"} else layouts[:1],
        _MASKS[rules.floating_masks] if "mask" in has else (None,),
        (False, True) if "flag" in has else (None,),
    )
    for kind, table, (layout, shape), mask, flag in products:
        length = shape[1] if layout in ("BSND", "BSC", "BSD") else shape[-2]
        makers = {
            "tensor": lambda draw, name, shape=shape: draw.normal(shape),
            "table": lambda draw, name, table=table: draw.table(table),
            "frequencies": lambda draw, name, k=kind, t=table: draw.frequencies(k, t),
            "mask": lambda draw, name, m=mask, s=(shape[0], 1, length, length): draw.mask(m, s),
            "flag": lambda draw, name, flag=flag: flag,
            "number": lambda draw, name: draws.number(name) or draws.WIDTH,
            "known": lambda draw, name: draws.Mock.KNOWN[name],
            "mock": lambda draw, name: draws.Mock(),
        }

        def assign(draw, makers=makers):
            return {n: makers[what](draw, n) for n, what in roles.items() if what != "default"}

        assign.kind, assign.mask = kind, mask
        yield assign


def role(name: str, defaults: dict, numbers: bool) -> str:
    """tensor, table, frequencies, mask, flag, number, known, mock or default: what a name is for."""
    optional = draws.FREQUENCIES.search(name) or name == "gate"
    if name in defaults and not (defaults[name] is None and optional):
        return "default"
    if name in MOCKS:
        return "mock"
    if numbers and name not in draws.Mock.KNOWN:
        return "flag" if draws.FLAGS.search(name) else "number"
    for pattern, what in (
        (draws.TABLE_NAMES, "table"),
        (draws.MASKS, "mask"),
    ):
        if pattern.search(name):
            return what
    if name in draws.Mock.KNOWN:
        return "known"
    for pattern, what in (
        (draws.FREQUENCIES, "frequencies"),
        (draws.FLAGS, "flag"),
        (draws.TENSORS, "tensor"),
    ):
        if pattern.search(name):
            return what
    return "tensor" if draws.number(name) is None else "number"


def run_all(migrations) -> dict:
    """(package, case) -> Outcome for every case of every package; equal code is run once."""
    outcomes: dict = {}
    with _nothing_compiled():
        for done in migrations:
            runner, known = Runner(done), {}
            for case in cases(done):
                if case.key not in known:
                    known[case.key] = runner.run(case)
                outcomes[done.package.name, case] = known[case.key]
    return outcomes


@contextlib.contextmanager
def _four_dimensions():
    """torch's attention refuses operands of other ranks: those are no inputs of the whole function."""
    functional = torch.nn.functional
    original = functional.scaled_dot_product_attention

    def checked(query, *arguments, **keywords):
        if query.dim() != 4:
            raise TypeError(f"expected 4 dimensions, found {query.dim()}")
        return original(query, *arguments, **keywords)

    functional.scaled_dot_product_attention = checked
    try:
        yield
    finally:
        functional.scaled_dot_product_attention = original


@contextlib.contextmanager
def _nothing_compiled():
    """torch.compile leaves functions as they are: what it makes of them is not asked here. One thread:
    for tensors this small the others only wait, three times as long."""
    compiler, threads = torch.compile, torch.get_num_threads()
    torch.compile = lambda model=None, **_: model if model is not None else lambda inner: inner
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.compile = compiler
        torch.set_num_threads(threads)
