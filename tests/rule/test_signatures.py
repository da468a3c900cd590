"""The catalogue against the libraries themselves: every name it gives can be imported, and every
signature is one that the installed version has.

Python functions and classes answer through inspect. torch's functions and methods in C++ answer
through the stubs that its wheel carries, one entry an overload. What is not installed for the tests
(apex, flash_attn, xformers) and what this project defines itself is left out by name."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest
import torch
import yaml

CATALOGUE = Path(__file__).resolve().parents[2] / "rules" / "catalogue"
INSTALLED = {"torch", "diffusers", "transformers", "einops", "rotary_embedding_torch"}
NOT_INSTALLED = {"apex", "flash_attn", "flash_attn_interface", "xformers"}
# Defined by this project: the targets, and what every language's operators are lowered to; and Python's
# own, part of which has no signature to ask for.
OWN = {"mindiesd", "operator", "math", "builtins"}

# What the stubs leave open or write otherwise, and why the catalogue does not follow them.
NOT_AS_STUBBED = {
    # The operator's schema makes scale and enable_gqa keyword-only; the stub does not say so.
    "torch.nn.functional.scaled_dot_product_attention",
    # No stub describes torch.linalg; this is the signature in its documentation.
    "torch.linalg.vector_norm",
    # The stubs of the casts leave out memory_format, which they take by keyword.
    *(f"torch.Tensor.{name}" for name in "float half bfloat16 double bool int long cpu".split()),
    # inspect sees only (*args, **kwargs) or a metaclass; their documentation says what they take.
    "torch.einsum",
    "torch.finfo",
    "torch.nn.Parameter",
    "torch.nn.Buffer",
}

# Aliases: one's stub spells each combination of arguments as an overload of its own, one has none.
STUBBED_IN_PARTS = {"divide", "expit"}


def operations():
    for path in sorted(CATALOGUE.glob("*.yaml")):
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert document["library"] in INSTALLED | NOT_INSTALLED | OWN, path
        if document["library"] in INSTALLED:
            for operation in document["operations"]:
                if operation["id"].startswith("refit."):
                    continue  # a normal form, which no library has
                also = {**document.get("also", {}), **operation.get("also", {})}
                yield {**operation, "also": also}


OPERATIONS = list(operations())


def texts(value):
    return [value] if isinstance(value, str) else list(value)


def resolve(name):
    """The object behind a qualified name: the longest importable module, then attributes."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            value = getattr(value, part)
        return value
    raise AssertionError(f"nothing importable in {name}")


def parameters_of(text):
    """A signature's text as (kind, name, default) triples; kinds as inspect numbers them."""
    arguments = ast.parse(f"def f{text}: pass").body[0].args
    return triples(arguments)


def triples(arguments, drop_first=False):
    positional = [(0, a) for a in arguments.posonlyargs] + [(1, a) for a in arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    found = [(kind, a.arg, value(d)) for (kind, a), d in zip(positional, defaults, strict=True)]
    if drop_first:
        found = found[1:]
    if arguments.vararg:
        found.append((2, arguments.vararg.arg, None))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append((3, argument.arg, value(default)))
    if arguments.kwarg:
        found.append((4, arguments.kwarg.arg, None))
    return found


def value(node):
    return None if node is None else ast.unparse(node)


def stubs():
    """torch's overloads by name: functions as they are, methods with the receiver as `input`."""
    folder = Path(torch.__file__).parent / "_C"
    functions, methods = {}, {}
    for name in ("_VariableFunctions.pyi", "_nn.pyi"):
        for node in ast.parse((folder / name).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                functions.setdefault(node.name, []).append(triples(node.args))
    for node in ast.parse((folder / "__init__.pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name == "TensorBase":
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    rest = triples(method.args, drop_first=True)
                    methods.setdefault(method.name, []).append([(1, "input", None), *rest])
    return functions, methods


FUNCTIONS, METHODS = stubs()


def inspected(target):
    """The signatures of a Python function or class; none for one in C++."""
    try:
        signature = inspect.signature(target)
    except ValueError:
        return []
    rows = []
    for parameter in signature.parameters.values():
        default = parameter.default
        text = None if default is parameter.empty else repr(default)
        rows.append((int(parameter.kind), parameter.name, text))
    return [rows]


def signatures_of(name):
    last = name.rsplit(".", 1)[1]
    known = inspected(resolve(name))
    if name.startswith("torch."):
        known = known + FUNCTIONS.get(last, []) + METHODS.get(last, [])
    return known


def same(ours, theirs, also):
    """Equal lists, where `input` may go by another name, a default of the stub may be left open,
    and what our list calls a parameter may be what theirs does under `also`."""

    def one(a, b):
        names = {a[1], *(other for other, name in also.items() if name == a[1])}
        if a[1] == "input":
            names |= {"self", "tensor"}
        defaults = a[2] == b[2] or b[2] == "..." or literal(a[2]) == literal(b[2])
        return a[0] == b[0] and b[1] in names and defaults

    return len(ours) == len(theirs) and all(map(one, ours, theirs))


def literal(text):
    if text is None:
        return "required"
    try:
        return ast.literal_eval(text)
    except ValueError:
        return text


def without(rows, *names):
    return [row for row in rows if row[1] not in names]


# Functions that make layers, which count as a class of them.
FACTORIES = {"diffusers.models.activations.get_activation"}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation["id"])
def test_names_exist(operation):
    for name in [operation["id"], *texts(operation.get("names", []))]:
        target = resolve(name)
        assert callable(target), name
        makes_layers = inspect.isclass(target) or name in FACTORIES
        assert makes_layers == operation.get("is_class", False), name
    for method in texts(operation.get("methods", [])):
        assert callable(getattr(torch.Tensor, method)), method


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation["id"])
def test_signatures_are_the_librarys(operation):
    if operation["id"] in NOT_AS_STUBBED:
        return
    ours = [parameters_of(text) for text in texts(operation["signature"])]
    known = {name: signatures_of(name) for name in [operation["id"], *operation.get("names", [])]}
    for rows in ours:
        assert any(same(rows, theirs, operation["also"]) for theirs in known[operation["id"]]), (
            f"{operation['id']}: {rows} is none of {known[operation['id']]}"
        )
    for name, signatures in known.items():
        if name.rsplit(".", 1)[1] not in STUBBED_IN_PARTS:
            assert any(same(a, b, operation["also"]) for a in ours for b in signatures), (
                f"{name}: none of {ours} is among {signatures}"
            )


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation["id"])
def test_methods_have_the_operations_parameters(operation):
    """A method takes what the function takes after the receiver; `out` is the function's alone."""
    signatures = [without(parameters_of(text), "out") for text in texts(operation["signature"])]
    if operation["id"] in NOT_AS_STUBBED:
        return
    for method in set(texts(operation.get("methods", []))) - STUBBED_IN_PARTS:
        known = [without(rows, "out") for rows in METHODS.get(method, [])]
        known += [without(rows, "out") for rows in inspected(getattr(torch.Tensor, method))]
        assert any(same(a, b, operation["also"]) for a in signatures for b in known), (
            f"Tensor.{method}: {signatures} is none of {known}"
        )


def body_of(name):
    """A definition's source without its own name, annotations and docstrings."""
    target = resolve(name)
    tree = ast.parse(inspect.getsource(target)).body[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in node.args.args:
                argument.annotation = None
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.decorator_list = []
            if ast.get_docstring(node) is not None:
                node.body = node.body[1:]
    return ast.unparse(tree).replace(target.__name__, "NAME")


@pytest.mark.parametrize(
    "operation",
    [operation for operation in OPERATIONS if operation["id"].startswith("transformers.")],
    ids=lambda operation: operation["id"],
)
def test_names_of_one_operation_have_one_body(operation):
    """transformers copies definitions from model to model; names are joined only where all agree,
    the helper that a rotation calls included."""

    def bodies(name):
        module = name.rsplit(".", 1)[0]
        helper = hasattr(resolve(module), "rotate_half") and "rotary" in name
        return body_of(name), body_of(f"{module}.rotate_half") if helper else None

    first = bodies(operation["id"])
    for name in operation.get("names", []):
        assert bodies(name) == first, name
