"""Which back end computes an attention problem. Entry points: ``choose``, ``choice_of``, ``tune``.

The library numbers its back ends in the order in which it prefers them and says which of them
computes a problem. ``static`` takes the first; ``manual`` the one that is named; ``runtime`` the one
that was fastest for this kind of problem on this device: measured once, on scratch tensors of the same
sizes and strides, and remembered in memory and on disk (``_memory``). On a GPU torch's own function is a
candidate too, where it computes the same. Plain math is for what no back end computes.
"""

import functools
import os
import threading
import time

import torch

from . import _library, _math, _memory
from .utils import ParametersInvalid, logger

MODES = ("runtime", "static", "manual")

# What the published names of op_type mean here: the library's own kernels, or the vendor's.
_OWN, _VENDOR = "own", "vendor"
PUBLISHED = {
    "prompt_flash_attn": _OWN,
    "fused_attn_score": _VENDOR,
    "ascend_laser_attention": _OWN,
}
_VENDORS = frozenset(("cudnn",))

CHOICES = (
    "runtime", "static", *PUBLISHED, "math", "torch", "cudnn", "tensor_core", "multiply_add", "cpu",
    "hopper",
)  # fmt: skip
"""What an operator's argument ``choice`` counts: a name keeps its number, which compiled graphs hold."""

TORCH = -1
"""The number of torch's scaled_dot_product_attention, which is no back end of the library."""

_WARM, _TIMED = 2, 5
# What a steady call takes of the host, in seconds, without and with a mask: below it a launch costs that,
# whatever the device does meanwhile. Measured with bench/host_time.py on the machine of docs/performance.md.
_HOST = {"torch": (22e-6, 70e-6), "cudnn": (12e-6, 18e-6)}
_HOST_OF_A_KERNEL = (7e-6, 7e-6)
# What torch's function must win by, so that noise does not choose the one whose calls cost more.
_TORCH_HANDICAP = 1.03
_SLEEP = 1_000_000  # cycles: about half a millisecond, in which launches are queued
_LONG = 0.02  # seconds: what takes longer need not be timed twice
_measuring = threading.Lock()


def names():
    """Every name that op_type and MINDIE_SD_FA_TYPE take."""
    ours = [n for device in sorted(_library.DEVICES) for n in _library.attention_backends(device)]
    torchs = ("torch",) if "cuda" in _library.DEVICES else ()
    return (*PUBLISHED, *dict.fromkeys(ours), *torchs, "math")


def _forced():
    return os.environ.get("MINDIE_SD_FA_TYPE")


# torch.compile takes the answer and does not trace the question, which 2.4 cannot. The decorator for it,
# torch.compiler.assume_constant_result, sets this and imports the whole compiler first.
_forced._dynamo_marked_constant = True


def choice_of(opt_mode, op_type):
    """What an operator's argument ``choice`` stands for: a mode, or the name of a back end.

    MINDIE_SD_FA_TYPE, where set, names the back end whatever the arguments say.

    Raises ParametersInvalid for a name that does not exist.
    """
    forced = _forced()
    if forced:
        if forced not in names():
            raise ParametersInvalid(
                f"MINDIE_SD_FA_TYPE must be one of {', '.join(names())}, but is {forced!r}."
            )
        return forced
    if op_type is not None and op_type not in names():
        raise ParametersInvalid(
            f"op_type must be one of {', '.join(names())}, but is {op_type!r}."
        )
    if opt_mode not in MODES:
        raise ParametersInvalid(
            f"opt_mode must be one of {', '.join(map(repr, MODES))}, but is {opt_mode!r}."
        )
    if opt_mode == "manual" and op_type is not None:
        return op_type
    return "static" if opt_mode == "manual" else opt_mode


def supported(tensors, options):
    """The numbers of the back ends that compute this problem, the preferred one first."""
    device_type = tensors["query"].device.type
    return [
        number
        for number in range(1, len(_library.attention_backends(device_type)) + 1)
        if _library.attention_supported(tensors, **options, backend=number)
    ]


def _head_first(tensors, options):
    """query, key, value as [B, N, S, D]."""
    operands = (tensors["query"], tensors["key"], tensors["value"])
    return operands if options["layout"] else tuple(t.transpose(1, 2) for t in operands)


def torch_computes(tensors, options):
    if tensors["query"].device.type != "cuda":
        return False
    query, key, _ = _head_first(tensors, options)
    return _math.fused_computes(
        query, key, tensors.get("mask"), options["causal"], options["window_left"],
        options["window_right"], options["softcap"], tensors.get("alibi_slopes"),
    )  # fmt: skip


def _candidates(tensors, options):
    """{name: number} of what computes this problem, the library's own order first."""
    known = _library.attention_backends(tensors["query"].device.type)
    found = {known[number - 1]: number for number in supported(tensors, options)}
    if "tensor_core" in found:
        found.pop("multiply_add", None)  # never faster, and long to time
    if torch_computes(tensors, options):
        found["torch"] = TORCH
    return found


def _static(tensors, options):
    """0, the library's own order, but for what torch's function was faster at wherever it was measured
    (docs/performance-attention.md): what cuDNN computes for torch and not for the library."""
    if tensors["query"].device.type != "cuda" or not torch_computes(tensors, options):
        return 0
    if tensors["query"].shape[-1] > 256 or {"hopper", "cudnn"} & set(_candidates(tensors, options)):
        return 0
    return TORCH


def _named(name, tensors, options):
    if name == "math":
        return None
    if name == "torch" and torch_computes(tensors, options):
        return TORCH
    known = _library.attention_backends(tensors["query"].device.type)
    meaning = PUBLISHED.get(name)
    for number in supported(tensors, options):
        own = known[number - 1]
        if own == name or meaning == (_VENDOR if own in _VENDORS else _OWN):
            return number
    logger.info("no back end %s for this attention; the library chooses", name)
    return 0


def choose(choice, tensors, options):
    """The number of a back end, 0 for the library's own choice, TORCH for torch's, None for plain math.

    tensors, options: what ``_library.attention`` takes.
    """
    if choice not in MODES:
        return _named(choice, tensors, options)
    device_type = tensors["query"].device.type
    if len(_library.attention_backends(device_type)) < 2:
        return 0
    if choice != "runtime":
        return _static(tensors, options)
    candidates = _candidates(tensors, options)
    if len(candidates) < 2 or 0 in tensors["output"].shape:
        return 0
    device = tensors["query"].device
    key = key_of(tensors, options)
    best = _memory.recall(device, key)
    if best in candidates:
        return candidates[best]
    if _capturing(device):
        _library.recorder.lasting = False  # the next call may measure
        return _static(tensors, options)
    return _measure(device, key, candidates, tensors, options)


def _capturing(device):
    return device.type == "cuda" and torch.cuda.is_current_stream_capturing()


def _stride_class(tensor):
    """The order of the dimensions in memory, outermost first, "+" where they have gaps, "*" where
    one repeats."""
    text, covered = "", 1
    dims = [d for d in range(tensor.dim()) if tensor.shape[d] > 1]
    gaps = False
    for d in sorted(dims, key=lambda d: abs(tensor.stride(d))):
        if tensor.stride(d) == 0:
            text = f"{d}*" + text
            continue
        gaps = gaps or tensor.stride(d) != covered
        covered = tensor.stride(d) * tensor.shape[d]
        text = str(d) + text
    return text + ("+" if gaps else "")


def key_of(tensors, options):
    """What two problems share for which one back end is fastest; device and versions apart."""
    parts = []
    for name in ("query", "key", "value", "mask", "alibi_slopes"):
        tensor = tensors.get(name)
        if tensor is not None:
            sizes = "x".join(map(str, tensor.shape))
            kind = str(tensor.dtype).removeprefix("torch.")
            parts.append(f"{name}={kind}:{sizes}:{_stride_class(tensor)}")
    parts += [f"{name}={options[name]}" for name in ("layout", "causal")]
    window = (options["window_left"], options["window_right"])
    if window != (-1, -1):
        parts.append(f"window={window[0]},{window[1]}")
    if options["softcap"]:
        parts.append("softcap")
    return " ".join(parts)


def _scratch(tensor):
    """Random values in the sizes and strides of a tensor, in memory of their own."""
    made = torch.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
    )
    # A repeated dimension is filled through one of its places.
    narrow = made
    for d in range(made.dim()):
        if made.stride(d) == 0 and made.shape[d] > 1:
            narrow = narrow.narrow(d, 0, 1)
    if tensor.dtype == torch.bool:
        narrow.fill_(True)
    else:
        narrow.normal_()
    return made


def torch_attention(tensors, options):
    """torch's function on what ``_library.attention`` takes; the result as [B, N, S, D]."""
    return _math.fused_attention(
        *_head_first(tensors, options), tensors.get("mask"), options["scale"], options["causal"]
    )


def torch_repeat(tensors, options):
    """``torch_attention`` as a function of query, key and value alone, in the layout that they have,
    with nothing left to find out; None where there is more to it."""
    query, key, value = _head_first(tensors, options)
    if tensors.get("mask") is not None or not query.shape[:2] == key.shape[:2] == value.shape[:2]:
        return None
    attention = torch.nn.functional.scaled_dot_product_attention
    causal, scale = bool(options["causal"]), options["scale"]
    if options["layout"]:
        return lambda q, k, v: attention(q, k, v, None, 0.0, causal, scale=scale)
    return lambda q, k, v: attention(
        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), None, 0.0, causal, scale=scale
    ).transpose(1, 2)


def _launch(number, tensors, options):
    if number == TORCH:
        torch_attention(tensors, options)
        return True
    return _library.attention(tensors, **options, backend=number)


def _time(number, tensors, options):
    """Seconds of one launch, the best of a few; None where the back end fails. On a GPU what the device
    takes: the host's part is another one in a steady call."""
    device, times = tensors["query"].device, []
    for i in range(_WARM + _TIMED):
        if device.type == "cuda":
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(_SLEEP)
            start.record()
            if not _launch(number, tensors, options):
                return None
            stop.record()
            stop.synchronize()
            seconds = start.elapsed_time(stop) / 1e3
        else:
            begin = time.perf_counter()
            if not _launch(number, tensors, options):
                return None
            seconds = time.perf_counter() - begin
        if i > 0 and seconds > _LONG:  # the first may have made a plan meanwhile
            return seconds
        if i >= _WARM:
            times.append(seconds)
    return min(times)


def best_of(times, masked=False):
    """The back end whose steady calls take least, of {name: seconds on the device}."""

    def cost(name):
        seconds = times[name] * (_TORCH_HANDICAP if name == "torch" else 1.0)
        return max(seconds, _HOST.get(name, _HOST_OF_A_KERNEL)[masked]), seconds

    return min(times, key=cost)


def _measure(device, key, candidates, tensors, options):
    with _measuring:
        best = _memory.recall(device, key)  # another thread may have measured meanwhile
        if best in candidates:
            return candidates[best]
        times = {}
        listening, _library.recorder.launches = _library.recorder.launches, None
        try:
            with torch.no_grad(), torch.cuda.device(device.index if device.type == "cuda" else -1):
                scratch = {n: None if t is None else _scratch(t) for n, t in tensors.items()}
                for name, number in candidates.items():
                    try:
                        seconds = _time(number, scratch, options)
                    except Exception as error:  # one that fails is not chosen; the others compute
                        logger.warning("back end %s: %s", name, error)
                        continue
                    if seconds is not None:
                        times[name] = seconds
        except (MemoryError, torch.cuda.OutOfMemoryError):
            _library.recorder.lasting = False
            return 0  # no room to measure in now: the library's choice
        finally:
            _library.recorder.launches = listening
        if not times:
            return 0
        best = best_of(times, tensors.get("mask") is not None)
        _memory.remember(device, key, best, times)
        return candidates[best]


@functools.lru_cache
def device_text(device):
    """What tells apart devices for which other back ends may be fastest."""
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        return f"{properties.name} sm{properties.major}{properties.minor}"
    return f"cpu {_library.cpu_isa}"
