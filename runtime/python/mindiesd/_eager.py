"""Repeats calls without repeating their checks. Entry points: ``eager``, ``forget``, and for the torch
operators ``implement`` and ``observed``.

A public function runs in Python the first time that a signature is seen: operator, scalars, and of the
tensors the types, devices, sizes and strides, and the state of autocast. What it then handed to the library is kept, and the next
call with that signature is made by ``libmindiesd_python.so`` alone: results allocated, addresses put
in, launched (``runtime/src/python/replay.cpp``). It steps aside for whatever a direct call would get
past: dispatch and function modes, torch.compile and tracing, functorch, a running profiler,
gradients, subclasses of Tensor; then the torch operators of ``_ops`` run.

From torch 2.10 on the library implements those operators, too (``operators.cpp``), for compiled graphs: it
asks Python for a call whose signature is new, and repeats what that handed to the library. Without the
library every call runs in Python.
"""

import copy
import ctypes
import functools
import itertools
import os
import sysconfig

import torch
from torch.compiler import is_dynamo_compiling
from torch.utils._python_dispatch import TorchDispatchMode

from . import _library
from ._refusals import ERRORS, refuse, refusing
from .utils import logger

_NAME = "libmindiesd_python.so"
# What it gives, in its order.
_FUNCTIONS = (
    "replay", "record", "recording", "forget", "connect", "words", "use_words", "read_negations",
    "implement", "keep", "failed",
)  # fmt: skip
_operations = itertools.count(1)


class _NoMode(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


def _words_show(words):
    """Whether the words of torch's dispatch, which torch does not document, change with what
    ``torch_state.h`` takes from them. What torch lacks for the check is a no."""
    if words() is None:
        return False
    plain, seen = words(), []
    try:
        for device in ("cpu", "cuda"):
            before = torch.is_autocast_enabled(device)
            torch.set_autocast_enabled(device, not before)
            try:
                seen.append(words())
            finally:
                torch.set_autocast_enabled(device, before)
        with _NoMode():
            seen.append(words())
        torch._C._functorch._grad_increment_nesting()
        try:
            seen.append(words())
        finally:
            torch._C._functorch._grad_decrement_nesting()
    except (AttributeError, RuntimeError, TypeError):
        return False
    return plain not in seen and plain == words()


def _negations():
    """((a tensor, a lazy negation beside it), ...): torch.imag of a lazy conjugate is one."""
    pairs = []
    for dtype, shape in ((torch.complex64, (3,)), (torch.complex128, (2, 5)), (torch.complex64, ())):
        z = torch.empty(shape, dtype=dtype)
        pairs.append((z.imag, z.conj().imag))
    assert all(negated.is_neg() and not plain.is_neg() for plain, negated in pairs)
    return tuple(pairs)


def _load():
    path = _library.library_path.parent / _NAME
    if not path.is_file() or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    if os.environ.get("MINDIESD_REPLAY") == "0" or os.environ.get("MINDIESD_CHECK") == "1":
        return None
    try:
        functions = ctypes.PyDLL(str(path)).mindiesd_python_functions
        functions.restype = ctypes.py_object
        functions.argtypes = ()
        own = dict(zip(_FUNCTIONS, functions(), strict=True))
        internals = torch._C
        own["connect"](
            torch.Tensor,
            torch.nn.Parameter,
            torch.dtype,
            internals.TensorBase,
            None
            if os.environ.get("MINDIESD_REPLAY") == "methods"
            else getattr(torch.Tensor, "__dlpack_c_exchange_api__", None),
            (
                internals._len_torch_dispatch_stack,
                internals._len_torch_function_stack,
                internals._get_tracing_state,
                internals._autograd._profiler_enabled,
                internals._functorch.peek_interpreter_stack,
            ),
            torch.is_grad_enabled,
            torch.get_num_threads,
            getattr(internals, "_cuda_getCurrentRawStream", torch.get_num_threads),
            _library.address(_library.set_num_threads),
            internals._is_any_autocast_enabled,
            torch.is_autocast_enabled,
            torch.get_autocast_dtype,
        )
    except (OSError, AttributeError, TypeError, ValueError) as error:
        logger.warning("calls are not repeated from C, since %s does not fit: %s", path, error)
        return None
    if os.environ.get("MINDIESD_REPLAY") != "methods":
        if _words_show(own["words"]):
            own["use_words"]()
        global reads_negations
        reads_negations = own["read_negations"](_negations())
    return own


reads_negations = False
"""Whether lazy negations are seen in a word of torch's tensors, which torch does not document, instead
of being asked for by a call."""
_functions = _load()
available = _functions is not None
"""Whether calls are repeated from C. MINDIESD_REPLAY=0 switches it off; ``methods`` makes it read
tensors as with torch before 2.10."""
replay, record, recording, forget, _words, _keep, _failed = (
    (_functions or {"forget": lambda: 0}).get(name)
    for name in ("replay", "record", "recording", "forget", "words", "keep", "failed")
)

_guards = torch._C._dynamo.guards
_empty_cpu = getattr(_guards, "_empty_strided_cpu", None)
_empty_cuda = getattr(_guards, "_empty_strided_cuda", None)


def _allocation(tensor):
    """(function, arguments, keywords) that allocate a tensor like this one."""
    layout = (tuple(tensor.shape), tensor.stride())
    if tensor.device.type == "cpu" and _empty_cpu is not None:
        return _empty_cpu, (*layout, tensor.dtype), None
    # The quick function takes the current device, which is the only one or else unknown.
    if tensor.is_cuda and _empty_cuda is not None and torch.cuda.device_count() == 1:
        return _empty_cuda, (*layout, tensor.dtype), None
    return torch.empty_strided, layout, {"dtype": tensor.dtype, "device": tensor.device}


def _tensors_of(args, keywords):
    """In the order in which replay.cpp counts them."""
    return [v for v in (*args, *keywords.values()) if isinstance(v, torch.Tensor)]


def _storage(tensor):
    return tensor.untyped_storage().data_ptr()


def _source(tensor, arguments, storages, outputs):
    """(number of the argument or ~number of the output that owns the memory, bytes from its
    address); None where it is not certain."""
    for i, output in enumerate(outputs):
        if tensor is output:
            return ~i, 0
    for i, argument in enumerate(arguments):
        if tensor is argument:
            return i, 0
    owners = [
        i
        for i, storage in enumerate(storages)
        if storage == _storage(tensor) and not any(arguments[i] is a for a in arguments[:i])
    ]
    if len(owners) > 1:  # slices of one tensor: what is derived from one mostly begins where it does
        owners = [i for i in owners if arguments[i].data_ptr() == tensor.data_ptr()]
    if len(owners) != 1:
        return None
    return owners[0], tensor.data_ptr() - arguments[owners[0]].data_ptr()


def _describe_python(arguments, repeat, tensors):
    """A function of the call's tensors that computes it by ``repeat``, a function of ``tensors`` in
    their order and no launch of the library; None where an operand is not an argument itself."""
    places = {}
    for name, tensor in tensors.items():
        for i, argument in enumerate(arguments):
            if tensor is argument:
                places[name] = i
                break
        else:
            return None
    if len(set(places.values())) != len({id(a) for a in arguments}):
        return None  # an argument that was read: its values are then part of the call
    order = tuple(places.values())
    if order == tuple(range(len(arguments))):
        return repeat
    return lambda *arguments: repeat(*(arguments[i] for i in order))


def _outputs_of(operation, tensors, arguments):
    written = [tensors.get(n) for n in operation.tensors if n in operation.outputs]
    return [t for t in written if t is not None and not any(t is a for a in arguments)]


def _slots(operation, tensors, arguments, outputs):
    """For each tensor that was handed on: where it stands in the struct, and whose memory it is; None
    where the call cannot be repeated from its arguments alone."""
    given = [t for t in tensors.values() if t is not None]
    if len({t.device for t in (*arguments, *given)}) != 1:
        return None
    storages = [_storage(a) for a in arguments]
    slots = []
    for name, tensor in tensors.items():
        if tensor is None:
            continue
        source = _source(tensor, arguments, storages, outputs)
        if source is None:
            return None
        device = tensor.device
        slots.append((
            operation.offsets[name], *source, _library.DTYPES[tensor.dtype],
            _library.DEVICE_TYPES[device.type], device.index or 0,
            tuple(tensor.shape), tensor.stride(),
        ))  # fmt: skip
    # An argument that is not handed on may have been read: its values are then part of the call.
    used = {source for _, source, *_ in slots if source >= 0}
    if not all(any(a is arguments[i] for i in used) for a in arguments):
        return None
    return tuple(slots)


def _describe(args, keywords, launch, result):
    """The recipe for replay.cpp; None where the call cannot be repeated from its arguments alone."""
    operation, tensors, struct = launch
    arguments = _tensors_of(args, keywords)
    if struct is None:
        return _describe_python(arguments, operation.repeat, tensors)
    outputs = _outputs_of(operation, tensors, arguments)
    slots = _slots(operation, tensors, arguments, outputs)
    if slots is None:
        return None
    results = []
    for item in result if isinstance(result, tuple) else (result,):
        for number, owner in (*enumerate(arguments), *((~i, t) for i, t in enumerate(outputs))):
            if item is owner:
                results.append(number)
                break
        else:
            return None
    return (
        _library.address(operation.function), struct, operation.offsets["stream"], slots,
        tuple(_allocation(t) for t in outputs), tuple(results), isinstance(result, tuple),
    )  # fmt: skip


def _describe_operator(args, launch, result):
    """The recipe for operators.cpp; None as above."""
    operation, tensors, struct = launch
    if struct is None:
        return operation.recipe
    arguments = _tensors_of(args, {})
    results = () if result is None else result if isinstance(result, tuple) else (result,)
    outputs = _outputs_of(operation, tensors, arguments)
    if len(outputs) != len(results) or any(o is not r for o, r in zip(outputs, results)):
        return None
    slots = _slots(operation, tensors, arguments, outputs)
    if slots is None:
        return None
    made = tuple(
        (
            tuple(t.shape), t.stride(), _library.DTYPES[t.dtype],
            _library.DEVICE_TYPES[t.device.type], t.device.index or 0,
        )
        for t in outputs
    )  # fmt: skip
    return (
        _library.address(operation.function), struct, operation.offsets["stream"], slots, made
    )


def _run(function, args, keywords):
    """Calls ``function``, with errors of the kind that Python raised: torch makes a RuntimeError of every
    error below its dispatcher."""
    recorder = _library.recorder
    recorder.failure = None
    try:
        return function(*args, **keywords)
    except RuntimeError:
        failure, recorder.failure = recorder.failure, None
        if failure is None:
            raise
    raise failure


def implement(names, namespace):
    """Has operators.cpp implement these operators of ``mindiesd``, which are defined already; False where
    it cannot. It asks the operators of the same names in ``namespace`` for what it has not seen."""
    if _functions is None or os.environ.get("MINDIESD_REPLAY") == "methods":
        return False
    letters = {"Tensor": "t", "Optional[Tensor]": "T", "Optional[float]": "N"}
    operators = []
    for name in names:
        packet, _, overload = name.partition(".")
        operator = getattr(getattr(torch.ops.mindiesd, packet), overload or "default")
        arguments = operator._schema.arguments
        operators.append((name, "".join(letters.get(str(a.type), "n") for a in arguments)))
    set_threads = _library.address(_library.set_num_threads)
    return _functions["implement"](tuple(operators), namespace, set_threads)


def observed(function):
    """``function``, which implements an operator in Python, as operators.cpp asks for it."""

    def call(*args):
        recorder = _library.recorder
        listens = recorder.launches is None and _keep()
        if listens:
            recorder.launches, recorder.lasting = [], True
        try:
            result = function(*args)
            if listens and recorder.lasting:
                launches = recorder.launches
                _keep(
                    _describe_operator(args, launches[0], result) if len(launches) == 1 else None
                )
        except Exception as error:
            recorder.failure = copy.copy(error)
            _failed(str(error))
            raise
        finally:
            if listens:
                recorder.launches = None
        return result

    return call


def _first(number, function, args, keywords):
    """A call whose signature is new."""
    recorder = _library.recorder
    if recorder.launches is not None:  # inside another one, which will be kept
        return _run(function, args, keywords)
    recorder.launches, recorder.lasting = [], True
    recording(True)
    try:
        result = _run(function, args, keywords)
        launches, lasting = recorder.launches, recorder.lasting
    finally:
        recorder.launches = None
        recording(False)
    if len(launches) == 1:
        if lasting:
            recipe = _describe(args, keywords, launches[0], result)
            if recipe is not None:
                record(number, args, keywords, recipe)
    elif lasting:
        record(number, args, keywords, None)
    return result


def stands_in(value):
    """Whether it is no tensor and takes the place of one in torch's functions, as the proxies of
    torch.fx do, which write calls down."""
    return hasattr(type(value), "__torch_function__") and not isinstance(value, torch.Tensor)


def _stand_in(args, keywords):
    return next((value for value in (*args, *keywords.values()) if stands_in(value)), None)


def overridable(function):
    """``function``, which objects that stand in for tensors may override as they may torch's own."""
    refused = refusing(function)

    @functools.wraps(function)
    def call(*args, **keywords):
        if is_dynamo_compiling():
            return function(*args, **keywords)
        value = _stand_in(args, keywords)
        if value is not None:
            return value.__torch_function__(call, (type(value),), args, keywords)
        return refused(*args, **keywords)

    return call


def eager(function):
    """Repeats ``function``, which computes by one call of the library from tensors and scalars."""
    if not available:
        return overridable(function)
    number = next(_operations)

    @functools.wraps(function)
    def call(*args, **keywords):
        if not is_dynamo_compiling():
            result = replay(number, args, keywords)
            if result is not None and result is not NotImplemented:
                return result
            value = _stand_in(args, keywords)
            if value is not None:
                return value.__torch_function__(call, (type(value),), args, keywords)
            try:
                if result is None:
                    return _first(number, function, args, keywords)
                return _run(function, args, keywords)
            except ERRORS as error:
                refuse(error, function, args, keywords)
        return function(*args, **keywords)

    return call
