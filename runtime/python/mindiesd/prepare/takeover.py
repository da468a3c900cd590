"""A model whose ``forward`` is computed another way as a whole, as by CUDA graphs. Entry points: ``take_over``,
``obstacle`` and ``taken``.

The model's class becomes a subclass of the same name that is made for it, with a ``forward`` of the same signature. The
model keeps an object of a class ``Forward``, which computes. Copies and pickles keep one of their own.
"""

import functools

import torch

from .guard import traced

_NAME = "_mindiesd_forward"


class Forward:
    """Computes the calls of ``module``, by a subclass's ``__call__``. It has slots alone, so that what it keeps is not
    taken for the module's state, and is made anew for a copy of the module."""

    __slots__ = ("function", "module")

    def __init__(self, module, base):
        """base: the class that the module has by itself."""
        self.module, self.function = module, self.made(module, base)

    def made(self, module, base):
        """What computes."""
        raise NotImplementedError

    def __reduce__(self):
        return _again, (type(self), self.module)


class TakenOver:
    """The model's class is a subclass made for it."""

    def fits(self, kind):
        """Whether a class is one that a model was given here."""
        return _NAME in vars(kind)

    def name(self):
        return "model with a forward of prepare's"

    def undo(self, module):
        module.__class__ = vars(type(module))[_NAME]
        module.__dict__.pop(_NAME, None)


def taken(module):
    """The object that computes the calls of this model, None where the model does."""
    return module.__dict__.get(_NAME)


def obstacle(model):
    """Why a model's forward must stay as it is, or None."""
    if taken(model) is not None:
        return "another step computes its forward already"
    if "forward" in model.__dict__ or "_hf_hook" in model.__dict__:
        return "its forward is replaced, as offloading does"
    if model._compiled_call_impl is not None:
        return "it is compiled already"
    kind = type(model)
    own = kind.__reduce_ex__ is not object.__reduce_ex__ or kind.__reduce__ is not object.__reduce__
    if own or hasattr(kind, "__deepcopy__"):
        return "its class has a way of its own to be copied, as one that torch.fx makes"
    return None


def take_over(work, forward, text):
    """Has ``forward``, a subclass of ``Forward``, compute the calls of the whole model."""
    model, base = work.model, type(work.model)
    model.__class__ = _subclass(base)
    work.record(model, TakenOver(), text)
    model.__dict__[_NAME] = forward(model, base)


@functools.cache
def _subclass(base):
    @functools.wraps(base.forward)
    def forward(self, *args, **kwargs):
        # Copies that share the original's attributes, as replicas on other devices do, compute by themselves.
        own = None if traced(args, kwargs) or self.training else self.__dict__.get(_NAME)
        if own is None or own.module is not self:
            return base.forward(self, *args, **kwargs)
        return own(*args, **kwargs)

    def reduced(self, protocol):
        _, _, *state = base.__reduce_ex__(self, protocol)
        return _new, (base,), *state

    names = {"__module__": base.__module__, "__qualname__": base.__qualname__, "__doc__": base.__doc__}
    return type(base)(base.__name__, (base,), {**names, _NAME: base, "forward": forward, "__reduce_ex__": reduced})


def _new(base):
    """The beginning of a copy: an object whose attributes follow."""
    return base.__new__(_subclass(base))


def _again(kind, module):
    return kind(module, vars(type(module))[_NAME])
