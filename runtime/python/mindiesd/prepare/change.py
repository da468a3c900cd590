"""Changes of modules that can be taken back. A record of each lies in the module itself, so that a copy or a pickle of
a prepared model can be restored as well. Entry points: ``swap_class``, ``add_record`` and ``restore``.

A module that computes otherwise gets another class, a subclass of its own: its parameters, its keys in state_dict, its
hooks and ``isinstance`` stay, and ``copy.deepcopy``, ``pickle`` and ``torch.compile`` see an ordinary module.
"""

from ..utils import ParametersInvalid

_RECORDS = "_mindiesd_prepared"


class ClassSwap:
    """The module had ``original`` as class and got ``prepared``; ``state`` names what that keeps in it."""

    def __init__(self, original, prepared, state):
        self.original, self.prepared, self.state = original, prepared, tuple(state)

    def fits(self, kind):
        """Whether a class is what the module was given."""
        return kind is self.prepared

    def name(self):
        return self.prepared.__name__

    def undo(self, module):
        module.__class__ = self.original
        for name in self.state:
            module.__dict__.pop(name, None)


class Hook:
    """The module has this hook of its forward more."""

    _KINDS = ("_forward_hooks", "_forward_hooks_with_kwargs", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs")

    def __init__(self, handle):
        self.id = handle.id

    def undo(self, module):
        for kind in self._KINDS:
            getattr(module, kind).pop(self.id, None)


def add_record(module, record):
    """Keeps ``record``, whose ``undo(module)`` takes a change back, in the module that was changed."""
    module.__dict__.setdefault(_RECORDS, []).append(record)


def records(module):
    return tuple(module.__dict__.get(_RECORDS, ()))


def swap_class(module, prepared, **state):
    """Makes the module one of class ``prepared``, with these attributes."""
    record = ClassSwap(type(module), prepared, state)
    module.__dict__.update(state)
    module.__class__ = prepared
    add_record(module, record)


def undo_last(module):
    """Takes back the last change of this module."""
    kept = module.__dict__[_RECORDS]
    kept[-1].undo(module)
    kept.pop()
    if not kept:
        del module.__dict__[_RECORDS]


def restore(model):
    """Takes back all that ``mindiesd.prepare`` changed in this model: classes, weights' layouts and hooks are as before
    the first call, and parameters are the same objects. Values loaded since then stay. A model that is not prepared
    stays as it is.

    Args:
        model: the module that was prepared, or a copy of it.

    Raises:
        ParametersInvalid: a module has got another class since, as parametrisations and sharding give it one. Nothing
            is taken back then.
    """
    for name, module in model.named_modules():
        classes = [record for record in records(module) if hasattr(record, "fits")]
        if classes and not classes[-1].fits(type(module)):
            raise ParametersInvalid(
                f"{name or 'the model'} must be a {classes[-1].name()}, as prepare left it, but it has become a "
                f"{type(module).__name__}; take that change back first."
            )
    for module in model.modules():
        while records(module):
            undo_last(module)
