"""Makes single functions and classes of a package runnable without importing the package.

Entry point: `Sources`. A module's names are looked up in its syntax tree and executed when something
asks for them: a definition, an assignment, an import of a library that is installed, or a name of
another module of the same package. What cannot be had (a library that is not installed) is an Absent,
which passes as a decorator and fails when it is computed with. So one definition runs within
milliseconds, and a package of whose dependencies none is installed can be looked at all the same.

With `wide`, float32 in the sources means float64: the reference that rounding is measured against.
"""

import __future__

import ast
import importlib
import pathlib
import types

import torch

# Libraries that a definition may really use.
LIBRARIES = frozenset(
    "torch math einops functools itertools typing collections dataclasses numbers warnings numpy "
    "mindiesd abc importlib contextlib enum operator inspect copy packaging re logging os sys".split()
)
FUTURE = __future__.annotations.compiler_flag


class Absent:
    """Stands for what is not installed. As a decorator it does nothing."""

    def __init__(self, name: str):
        self.absent_name = name

    def __call__(self, *args, **kwargs):
        if len(args) == 1 and not kwargs and isinstance(args[0], (type, types.FunctionType)):
            return args[0]
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.absent_name}.{name}")

    def __bool__(self):
        return False

    def __mro_entries__(self, bases):
        return () if any(not isinstance(base, Absent) for base in bases) else (torch.nn.Module,)


class _Widen(ast.NodeTransformer):
    """float32 becomes float64, `.float()` becomes `.double()`."""

    NAMES = {"float": "double", "float32": "float64", "complex64": "complex128"}

    def visit_Attribute(self, node):
        self.generic_visit(node)
        wide = self.NAMES.get(node.attr)
        return ast.copy_location(ast.Attribute(node.value, wide, node.ctx), node) if wide else node


class Module(dict):
    """The globals of one file; a name is executed when it is first asked for."""

    def __init__(self, sources: "Sources", file: str):
        super().__init__(__name__=file.removesuffix(".py").replace("/", "."), __file__=file)
        self.sources, self.file = sources, file
        self.tree = sources.tree(file)
        self.bindings: dict[str, ast.stmt] = {}
        self.busy: list[ast.stmt] = []
        self._bind(self.tree.body)

    def _bind(self, body) -> None:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                self.bindings[node.name] = node
            elif isinstance(node, ast.Import | ast.ImportFrom):
                for alias in node.names:
                    self.bindings.setdefault(alias.asname or alias.name.partition(".")[0], node)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for name in (n for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)):
                    self.bindings.setdefault(name.id, node)
            elif isinstance(node, (ast.If, ast.Try)):
                self._bind(node.body)
                for handler in getattr(node, "handlers", []):
                    self._bind(handler.body)
                self._bind(node.orelse)

    def __missing__(self, name: str):
        node = self.bindings.get(name)
        if node is None:
            raise KeyError(name)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self[name] = value = self._imported(node, name)
            return value
        self.run(node)
        if name not in self:
            self[name] = Absent(name)
        return dict.__getitem__(self, name)

    def touch(self, node: ast.stmt) -> None:
        """Binds the names that class bodies in a statement read: Python looks them up in the globals
        without asking for a missing one."""
        inside = [n for n in ast.walk(node) if isinstance(n, ast.ClassDef)]
        for name in {n.id for c in inside for n in _read_at_once(c) if isinstance(n, ast.Name)}:
            if name in self.bindings and name not in self and self.bindings[name] not in self.busy:
                try:
                    self[name]  # noqa: B018
                except ImportError:
                    raise
                except Exception:
                    self[name] = Absent(name)

    def run(self, node: ast.stmt) -> None:
        """Executes one statement; what fails binds what is Absent."""
        self.busy.append(node)
        self.touch(node)
        module = ast.Module([node], [])
        if self.sources.wide:
            module = ast.fix_missing_locations(_Widen().visit(self.sources.fresh(module)))
        try:
            exec(compile(module, self.file, "exec", FUTURE), self)
        except Exception:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                raise
            for name in (n.id for n in ast.walk(node) if isinstance(n, ast.Name)):
                if isinstance(self.bindings.get(name), ast.Assign) and name not in self:
                    self[name] = Absent(name)

    def _imported(self, node, name: str):
        if isinstance(node, ast.Import):
            alias = next(a for a in node.names if (a.asname or a.name.partition(".")[0]) == name)
            wanted, attribute = alias.name, None
            if not alias.asname:
                for part in [a.name for a in node.names if a.name.partition(".")[0] == name]:
                    self._library(part)
                wanted = alias.name.partition(".")[0]
        else:
            alias = next(a for a in node.names if (a.asname or a.name) == name)
            package = pathlib.PurePosixPath(self.file).parent.parts
            base = package[: len(package) - node.level + 1] if node.level else ()
            wanted = ".".join([*base, *([node.module] if node.module else [])])
            attribute = alias.name
        inside = self.sources.find(wanted)
        given = self.sources.special(f"{wanted}.{attribute}") if attribute else None
        if given is not None and not isinstance(given, Absent):
            return given
        if inside is not None:
            return self.sources.lookup(inside, attribute)
        if attribute is not None and (found := self.sources.find(f"{wanted}.{attribute}")):
            return self.sources.module(found)
        library = self._library(wanted)
        if attribute is None or isinstance(library, Absent):
            return library if attribute is None else self.sources.special(f"{wanted}.{attribute}")
        if hasattr(library, attribute):
            return getattr(library, attribute)
        return self._library(f"{wanted}.{attribute}")

    def _library(self, name: str):
        if name.partition(".")[0] not in LIBRARIES:
            return self.sources.special(name)
        try:
            return importlib.import_module(name)
        except ImportError:
            if name.partition(".")[0] == "mindiesd":
                raise
            return Absent(name)


def _read_at_once(node: ast.ClassDef):
    """What a class reads when it is made: not the bodies of its functions."""
    stack: list[ast.AST] = [*node.bases, *node.decorator_list, *node.body]
    while stack:
        found = stack.pop()
        yield found
        if isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            stack += getattr(found, "decorator_list", [])
            stack += [d for d in [*found.args.defaults, *found.args.kw_defaults] if d is not None]
        else:
            stack += ast.iter_child_nodes(found)


class Sources:
    """The sources of one package below `root`. special: gives the object to use for a qualified name
    of another library, or of this package, or None."""

    def __init__(self, root: pathlib.Path, wide: bool = False, special=lambda name: None):
        self.root, self.wide = root, wide
        self._special = special
        self._trees: dict[str, ast.Module] = {}
        self._modules: dict[str, Module] = {}

    def special(self, name: str):
        found = self._special(name)
        return Absent(name) if found is None else found

    def tree(self, file: str) -> ast.Module:
        if file not in self._trees:
            self._trees[file] = ast.parse((self.root / file).read_text(encoding="utf-8"))
        return self._trees[file]

    @staticmethod
    def fresh(node: ast.Module) -> ast.Module:
        """A copy that may be transformed."""
        return ast.parse(ast.unparse(node))

    def find(self, dotted: str) -> str | None:
        path = dotted.replace(".", "/")
        for file in (f"{path}.py", f"{path}/__init__.py"):
            if path and (self.root / file).is_file():
                return file
        return None

    def module(self, file: str) -> Module:
        if file not in self._modules:
            self._modules[file] = Module(self, file)
        return self._modules[file]

    def lookup(self, file: str, attribute: str | None):
        module = self.module(file)
        if attribute is None:
            return Namespace(module)
        if attribute in module or attribute in module.bindings:
            return module[attribute]
        below = self.find(f"{file.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}.{attribute}")
        return Namespace(self.module(below)) if below else Absent(attribute)

    def definition(self, file: str, owner: str):
        """The object that a path like `Class.method.inner` names, and the class it is a method of.

        A function inside a function is executed by itself, in the module's globals.
        """
        module = self.module(file)
        nodes = [node for node, _ in self.path(file, owner)]
        head = nodes[0]
        if isinstance(head, ast.ClassDef) and len(nodes) == 2:
            return getattr(module[head.name], nodes[1].name), module[head.name]
        if len(nodes) == 1:
            return module[head.name], None
        scratch = _Scratch(module)
        scratch.execute(nodes[-1])
        return scratch[nodes[-1].name], None

    def path(self, file: str, owner: str) -> list[tuple[ast.stmt, list]]:
        """The nodes that the parts of a path name, each with the body that it stands in."""
        body, found = self.tree(file).body, []
        for part in owner.split("."):
            for node, around in _definitions(body):
                if node.name == part:
                    found.append((node, around))
                    body = node.body
                    break
            else:
                raise LookupError(f"{file} has no {owner}")
        return found


class Namespace:
    """A module of the package, seen as an object."""

    def __init__(self, module: Module):
        self._module = module

    def __getattr__(self, name):
        try:
            return self._module[name]
        except KeyError:
            raise AttributeError(name) from None


class _Scratch(dict):
    """Globals that a nested definition is executed in, on top of its module's."""

    def __init__(self, module: Module):
        super().__init__(__name__=module["__name__"])
        self.module = module

    def __missing__(self, name):
        return self.module[name]

    def execute(self, node: ast.stmt) -> None:
        self.module.touch(node)
        module = ast.Module([node], [])
        if self.module.sources.wide:
            module = ast.fix_missing_locations(_Widen().visit(Sources.fresh(module)))
        exec(compile(module, self.module.file, "exec", FUTURE), self)


def _definitions(body):
    """Definitions in a body, also those inside its compound statements."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node, body
        else:
            for field in ("body", "orelse", "finalbody"):
                yield from _definitions(getattr(node, field, None) or [])
            for handler in getattr(node, "handlers", []):
                yield from _definitions(handler.body)
