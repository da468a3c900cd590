"""Calls captured in CUDA graphs, one for each signature of arguments. Entry point: ``graphed``."""

import collections
import contextlib
import threading
from copy import deepcopy as copy_of

import torch
from torch.utils import _pytree

from ..utils import ParametersInvalid
from ._recorder import CudaRecorder
from ._signature import Call, Unfit, copy, like, plain, settings
from ._state import State, Weights

_REMEMBERED = 256  # signatures without a graph, and reasons
_RESTLESS = 16  # changes of weights in a row after which calls stay plain


_READY = object()  # a signature whose next call is captured
_Captured = collections.namedtuple("_Captured", "recording tensors state")


class _Argument:
    """In a captured result, the place of an argument that the call gives back."""

    def __init__(self, number):
        self.number = number


class _Kept:
    """In a captured result, a tensor that lies in the storage of a parameter or buffer."""

    def __init__(self, tensor):
        self.tensor = tensor


class _Graph:
    """A captured call with the tensors that it reads and the layout of its result."""

    def __init__(self, recording, tensors, leaves, spec):
        self.recording, self.tensors, self._leaves, self._spec = recording, tensors, leaves, spec

    def answer(self, given, copies):
        """Replays the call on other tensors."""
        for tensor, one in zip(self.tensors, given, strict=True):
            copy(tensor, one)
        self.recording.replay()
        done, values = {}, []
        for leaf in self._leaves:
            if isinstance(leaf, _Argument):
                leaf = given[leaf.number]
            elif isinstance(leaf, _Kept):
                leaf = leaf.tensor
            elif copies and isinstance(leaf, torch.Tensor):
                if id(leaf) not in done:
                    done[id(leaf)] = like(leaf)
                    copy(done[id(leaf)], leaf)
                leaf = done[id(leaf)]
            values.append(leaf)
        return _pytree.tree_unflatten(values, self._spec)


def _result(value, tensors, storages, device):
    """The leaves and the structure of a result, its tensors told apart by where they lie.

    Raises:
        Unfit: with the part of the result that a graph cannot give again.
    """
    leaves, spec = _pytree.tree_flatten(value)
    arguments = {t.untyped_storage().data_ptr() for t in tensors if t.numel()}
    found = []
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor):
            try:
                plain(leaf)
            except Unfit:
                raise Unfit(f"the result holds a {type(leaf).__name__}, which a graph does not make anew") from None
            found.append(leaf)
            continue
        given = [i for i, tensor in enumerate(tensors) if tensor is leaf]
        if given:
            found.append(_Argument(given[0]))
            continue
        if type(leaf) is not torch.Tensor or leaf.layout is not torch.strided or leaf.device != device:
            raise Unfit(f"the result holds a {type(leaf).__name__} on {leaf.device} of layout {leaf.layout}")
        if leaf.requires_grad:
            raise Unfit("the result requires grad")
        if leaf.is_conj() or leaf.is_neg() or like(leaf) is None:
            raise Unfit("the result holds a lazy conjugate or negation, or elements that overlap")
        place = leaf.untyped_storage().data_ptr()
        if leaf.numel() and place in arguments:
            raise Unfit("the result holds a view of an argument")
        found.append(_Kept(leaf) if leaf.numel() and place in storages else leaf)
    return found, spec


def _first_line(error):
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else ''}"


class Graphed:
    """What ``graphed`` gives; attributes that it does not have are those of the function, so that ``to`` and ``eval``
    give the function's module.

    Attributes:
        reasons: why calls were made without a graph, and how many for each reason.
        evicted: how many graphs gave way to newer ones.
    """

    def __init__(self, function, max_graphs, warmup, copy_results, recorder):
        self._function, self._most, self._warmup, self._copies = function, max_graphs, warmup, copy_results
        self._recorder, self._lock = recorder, threading.RLock()
        self._graphs = collections.OrderedDict()  # key -> _Graph, the one used last at the end
        self._seen = collections.OrderedDict()  # key -> plain calls so far, _READY, or the reason against a graph
        self._weights, self._restless = None, 0  # and how often they changed since the last replay
        self._refused = None  # why no call is captured any more
        self.reasons, self.evicted = {}, 0

    @property
    def graphs(self):
        """How many graphs there are."""
        return len(self._graphs)

    def clear(self):
        """Drops all graphs and what is known of signatures. To be called after a change that is neither in arguments
        nor in weights, such as another setting of a module."""
        with self._lock:
            self._recorder.wait()
            self._graphs.clear()
            self._seen.clear()
            self._weights, self._restless, self._refused = None, 0, None

    def __call__(self, /, *args, **kwargs):
        if torch.compiler.is_compiling():
            return self._function(*args, **kwargs)
        try:
            call, key = self._key(args, kwargs)
            weights, known = self._known(call, key)
        except Unfit as reason:
            self._note(str(reason))
            return self._function(*args, **kwargs)
        if isinstance(known, _Graph):
            return self._answer(known, call)
        if known is _READY:
            return self._captured(call, key, weights, args, kwargs)
        if known == self._warmup - 1:
            return self._watched(call, key, weights, args, kwargs)
        result = self._function(*args, **kwargs)
        self._remember(key, known + 1)
        return result

    def _key(self, args, kwargs):
        device = self._recorder.device()
        if device is None:
            raise Unfit("there is no CUDA device")
        if self._recorder.capturing():
            raise Unfit("the call is part of a graph that is being captured")
        now = settings(device.type)
        call = Call(args, kwargs, device)
        return call, (now, device, call.key)

    def _known(self, call, key):
        """The weights, and the graph of a signature, ``_READY`` for a capture, or how many plain calls it had."""
        with self._lock:
            if self._refused is not None:
                raise Unfit(self._refused)
            try:
                self._look_at_weights()
            except Unfit as error:
                self._refused = str(error)
                raise Unfit(self._refused) from None
            if (reason := self._weights.obstacle(key[1])) is not None:
                raise Unfit(reason)
            if not call.tensors and not self._weights.storages:
                raise Unfit("neither arguments nor modules have tensors")
            if (graph := self._graphs.get(key)) is not None:
                self._graphs.move_to_end(key)
                return self._weights, graph
            known = self._seen.get(key, 0)
            if isinstance(known, str):
                raise Unfit(known)
            return self._weights, known

    def _look_at_weights(self):
        """Drops all graphs if weights have changed since they were captured."""
        known = self._weights
        if known is not None and not known.moved() and not (self._graphs and known.altered()):
            return
        restless = 0 if self._weights is None else self._restless + 1
        if restless:
            self._note("weights were replaced or moved, or modules changed, since the call before")
        if restless >= _RESTLESS:
            raise Unfit(f"weights or tensors that modules hold changed {_RESTLESS} times without a graph between")
        self.clear()
        self._weights, self._restless = Weights(self._function), restless

    def _remember(self, key, value):
        with self._lock:
            self._seen[key] = value
            self._seen.move_to_end(key)
            if len(self._seen) > _REMEMBERED:
                self._seen.popitem(last=False)

    def _note(self, reason):
        with self._lock:
            if reason in self.reasons or len(self.reasons) < _REMEMBERED:
                self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def _watched(self, call, key, weights, args, kwargs):
        """Makes the last plain call before the capture, and looks for what a graph would not repeat."""
        try:
            state, before = State(self._function, key[1].type), _copies(call.tensors)
        except Unfit as reason:
            self._remember(key, str(reason))
            return self._function(*args, **kwargs)
        result = self._function(*args, **kwargs)
        try:
            if (name := state.changed()) is not None:
                raise Unfit(f"the call changes {name} of the module, which a graph does not")
            for number, (mine, tensor) in enumerate(zip(before, call.tensors, strict=True)):
                if not _same_bits(mine, tensor):
                    raise Unfit(f"the call writes its tensor argument {number}")
            again = Call(args, kwargs, key[1])
            if again.key != call.key or any(a is not b for a, b in zip(again.tensors, call.tensors, strict=True)):
                raise Unfit("the call changes a list or dictionary among its arguments")
            _result(result, call.tensors, weights.storages, key[1])
            self._remember(key, _READY)
        except Unfit as reason:
            self._remember(key, str(reason))
        return result

    def _captured(self, call, key, weights, args, kwargs):
        """Captures the call and answers it by the graph; without one where that cannot be."""
        with self._lock:
            if key in self._graphs:  # another thread was first
                return self._answer(self._graphs[key], call)
            try:
                self._weights = weights = Weights(self._function)  # with the tensors that the plain calls have made
                state, tensors = State(self._function, key[1].type), _copies(call.tensors)
                mine_args, mine_kwargs = call.filled(tensors)
                self._make_room()
                with self._no_autocast_cache(key[1].type):
                    recording = self._recorder.record(
                        lambda: self._function(*mine_args, **mine_kwargs),
                        [graph.recording for graph in self._graphs.values()],
                    )
            except Exception as error:
                reason = str(error) if isinstance(error, Unfit) else f"no capture: {_first_line(error)}"
            else:
                return self._kept(_Captured(recording, tensors, state), call, key, weights)
        self._remember(key, reason)
        self._note(reason)
        return self._function(*args, **kwargs)

    def _kept(self, captured, call, key, weights):
        """Answers the call by its new graph, which stays if it can answer others as well."""
        recording, tensors = captured.recording, captured.tensors
        try:
            if (name := captured.state.changed()) is not None:
                raise Unfit(f"the call changes {name} of the module, which a graph does not")
            leaves, spec = _result(recording.result, tensors, weights.storages, key[1])
        except Unfit as reason:
            self._remember(key, str(reason))
            recording.replay()  # the device's part of this call; Python's has been done
            self._recorder.end()
            self._recorder.wait()
            self._graphs.clear()  # they would write the memory of this result, which somebody keeps
            return recording.result
        graph = _Graph(recording, tensors, leaves, spec)
        self._graphs[key] = graph
        self._seen.pop(key, None)
        return self._answer(graph, call)

    def _answer(self, graph, call):
        with self._lock:
            self._restless = 0
            self._recorder.begin()
            result = graph.answer(call.tensors, self._copies)
            self._recorder.end()
            return result

    def _make_room(self):
        while len(self._graphs) >= self._most:
            self._recorder.wait()
            self._graphs.popitem(last=False)
            self.evicted += 1

    @staticmethod
    def _no_autocast_cache(kind):
        """Autocast as it is, without the weights that it has cast: they do not live as long as a graph."""
        if not torch.is_autocast_enabled(kind):
            return contextlib.nullcontext()
        return torch.autocast(kind, dtype=torch.get_autocast_dtype(kind), cache_enabled=False)

    def named_parts(self):
        """What modules are looked for in, as of the functions of ``_tensors.py``."""
        return [("function", self._function)]

    def __getattr__(self, name):
        if name.startswith("__") or "_function" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self._function, name)

    def __deepcopy__(self, memo):
        function = copy_of(self._function, memo)
        return Graphed(function, self._most, self._warmup, self._copies, type(self._recorder)())

    def __del__(self):
        if "_lock" in self.__dict__:
            self._recorder.wait()

    def __repr__(self):
        return f"graphed({type(self._function).__name__}, {self.graphs} of {self._most} graphs)"


def _copies(tensors):
    """Copies of tensors with their layouts."""
    copies = [like(tensor) for tensor in tensors]
    for mine, tensor in zip(copies, tensors, strict=True):
        copy(mine, tensor)
    return copies


def _same_bits(one, two):
    """Whether two tensors agree in every bit: NaN with itself, too, and 0.0 not with -0.0."""
    try:
        return torch.equal(*(t.contiguous().reshape(-1).view(torch.uint8) for t in (one, two)))
    except RuntimeError as error:
        raise Unfit(f"an argument of type {one.dtype} cannot be compared: {error}") from None


def graphed(function, max_graphs=8, *, warmup=2, copy_results=True, recorder=None):
    """A callable that makes the calls of ``function`` by CUDA graphs: all kernels of a call are launched at once, which
    is faster where the host needs longer to launch them than the device to compute.

    There is a graph for each signature: the structure of the arguments, the sizes, strides and types of tensors, the
    values of everything else (a number that varies is better passed as a tensor), and torch's settings such as
    autocast. The first ``warmup`` calls with a signature are plain calls, the next one is captured; no call is made
    twice. The graph that has not been used for longest gives way to a new one.

    A graph repeats what the device does, not what Python does: the function's result must depend on nothing but its
    arguments, parameters, buffers and random numbers. Calls that are seen to change attributes of modules or to write
    their arguments, that want derivatives, whose arguments or results are not plain values and tensors of the device,
    or that torch cannot capture stay plain calls, and ``reasons`` says why. Tensors of modules that are replaced or
    moved, other values in attributes of modules, hooks, and modules that are exchanged or set to training make graphs
    anew; after other changes, such as that of a number in an object that a module holds, call ``clear()``.

    Args:
        function: a module or another callable.
        max_graphs: how many graphs are kept.
        warmup: how many plain calls with a signature come first, at least one.
        copy_results: gives results their own memory. Otherwise they are good until the next call only.
        recorder: what captures calls, by default CUDA graphs.

    Raises:
        ParametersInvalid: an argument cannot be used.
    """
    if not callable(function):
        raise ParametersInvalid(f"function must be a module or function, but {type(function).__name__} is given.")
    for name, value in (("max_graphs", max_graphs), ("warmup", warmup)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ParametersInvalid(f"{name} must be a whole number from 1 on, but {value!r} is given.")
    return Graphed(function, max_graphs, warmup, copy_results, CudaRecorder() if recorder is None else recorder)
