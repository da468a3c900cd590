"""Importing one version of a tree: its files on disk, with other texts in the place of some.

Entry points: `use` and `load`. Nothing is written beside the files. A module that is not installed
gets a placeholder once an import has failed for it, so that the rest of a file can be run; what
calls the placeholder raises.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import linecache
import os
import sys
import types

from . import standins

MOST_PLACEHOLDERS = 40


class Missing(Exception):
    """A file cannot be imported."""


class _Loader(importlib.machinery.SourceFileLoader):
    """Reads the texts that stand in the place of files."""

    texts: dict[str, bytes] = {}

    def path_stats(self, path):
        raise OSError("no compiled file stands for this text")

    def get_data(self, path):
        text = self.texts.get(os.path.realpath(path))
        if text is None:
            return super().get_data(path)
        # What reads a function's source (inspect, torch) asks linecache; no time means: keep it.
        lines = importlib.util.decode_source(text).splitlines(keepends=True)
        linecache.cache[path] = (len(text), None, lines, path)
        return text


def use(root: str, folders: list[str], texts: dict[str, bytes]) -> None:
    """Imports from these folders first; `texts` are by absolute path."""
    _Loader.texts = {os.path.realpath(path): text for path, text in texts.items()}
    sys.dont_write_bytecode = True
    top = os.path.realpath(root)
    finder = importlib.machinery.FileFinder.path_hook(
        (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
        (_Loader, importlib.machinery.SOURCE_SUFFIXES),
    )

    def hook(path):
        real = os.path.realpath(path)
        if real != top and not real.startswith(top.rstrip(os.sep) + os.sep):
            raise ImportError(f"{path} is not in the tree", path=path)
        return finder(path)

    sys.path_hooks.insert(0, hook)
    sys.path_importer_cache.clear()
    sys.path[:0] = [folder for folder in folders if folder not in sys.path]
    importlib.invalidate_caches()


def module_name(path: str, folders: list[str]) -> tuple[str, str]:
    """The module's name, and the folder that it is imported from."""
    folder, name = os.path.split(path)
    parts = [] if name == "__init__.py" else [name[: -len(".py")]]
    if os.path.exists(os.path.join(folder, "__init__.py")):
        while os.path.exists(os.path.join(folder, "__init__.py")):
            folder, last = os.path.split(folder)
            parts.insert(0, last)
        return ".".join(parts), folder
    above = [one for one in folders if (folder + os.sep).startswith(one.rstrip(os.sep) + os.sep)]
    for one in sorted(above, key=len, reverse=True):
        between = [part for part in os.path.relpath(folder, one).split(os.sep) if part != "."]
        if all(part.isidentifier() for part in between):
            return ".".join([*between, *parts]), one
    return ".".join(parts), folder


def load(path: str, folders: list[str]) -> tuple[types.ModuleType, list[str]]:
    """The module of a file, and the names that placeholders stand for. Raises Missing."""
    name, folder = module_name(path, folders)
    if folder not in sys.path:
        sys.path.append(folder)
    if os.path.dirname(path) not in sys.path and folder == os.path.dirname(path):
        sys.path.append(folder)
    try:
        module = with_placeholders(lambda: importlib.import_module(name))
    except BaseException as error:  # whatever the module's code raises
        raise Missing(f"importing {name} fails: {said(error)}") from error
    file = getattr(module, "__file__", None)
    if file is None or os.path.realpath(file) != os.path.realpath(path):
        raise Missing(f"importing {name} gives {file or 'no file'}, not this file")
    return module, sorted(_Finder.names)


def said(error: BaseException) -> str:
    """An exception as one short line."""
    lines = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return text if len(text) <= 200 else text[:197] + "..."


# Placeholders.


class NotInstalled(Exception):
    """A placeholder of a package that is not installed was called."""


class _Meta(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _placeholder(f"{cls.__qualname__}.{name}")

    def __call__(cls, *args, **kwargs):
        if not vars(cls).get("_refit_placeholder"):
            return super().__call__(*args, **kwargs)  # a class of the tree that derives from one
        if not _Finder.importing:
            raise NotInstalled(f"{cls.__qualname__} is called, and its package is not installed")
        # A decorator leaves what it decorates; anything else makes one.
        if len(args) == 1 and not kwargs and isinstance(args[0], (types.FunctionType, type)):
            return args[0]
        return _placeholder(f"{cls.__qualname__}()")

    def __getitem__(cls, key):
        return cls

    def __or__(cls, other):
        return cls

    __ror__ = __or__

    def __iter__(cls):
        return iter(())


def _placeholder(name: str):
    known = standins.find(name)
    if known is not None:
        return known
    return _Meta(name, (), {"_refit_placeholder": True, "__qualname__": name, "__module__": "placeholder"})


class _Module(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _placeholder(f"{self.__name__}.{name}")


class _Finder:
    """Finds a placeholder for each module below the names that are not installed."""

    names: set[str] = set()
    importing = False

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] not in cls.names:
            return None
        return importlib.machinery.ModuleSpec(name, cls, is_package=True)

    @staticmethod
    def create_module(spec):
        return _Module(spec.name)

    @staticmethod
    def exec_module(module):
        module.__version__ = "0"


def with_placeholders(work):
    """Runs what imports. Once it fails for a package that is not installed, it runs again with a
    placeholder in the package's place."""
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)
    _Finder.importing = True
    try:
        while True:
            try:
                return work()
            except ModuleNotFoundError as error:
                top = (error.name or "").partition(".")[0]
                known = not top or top in _Finder.names or _is_installed(top)
                if known or len(_Finder.names) >= MOST_PLACEHOLDERS:
                    raise
                _Finder.names.add(top)
    finally:
        _Finder.importing = False


def _is_installed(name: str) -> bool:
    if name in ("torch", "mindiesd"):
        return True  # these decide what is compared: without them nothing is
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return True
