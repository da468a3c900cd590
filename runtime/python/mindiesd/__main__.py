"""``python -m mindiesd info``, ``tune SHAPE…`` and ``profile MODULE:FUNCTION``. Entry point: main."""

import argparse
import platform
import re
import sys
from pathlib import Path

import torch

from . import _backends, _eager, _library, _memory, _profile
from .ext import attention_forward

_TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
_SHAPE = re.compile(r"(\d+)x(\d+)(?:/(\d+))?x(\d+)(?:/(\d+))?x(\d+)")


def _devices():
    found = [torch.device("cpu")]
    if "cuda" in _library.DEVICES and torch.cuda.is_available():
        found += [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
    return found


def info():
    """Prints devices, back ends, versions and what is remembered."""
    print(f"library   {_library.library_path} (version {_library.version})")
    print(f"torch     {torch.__version__}, Python {platform.python_version()}")
    print(f"repeating {'from C' if _eager.available else 'in Python'}")
    for device in _devices():
        print(f"device    {device}: {_backends.device_text(device)}")
        print(f"  attention back ends: {', '.join(_library.attention_backends(device.type))}, math")
        file = _memory.path(device)
        print(f"  measured: {len(_memory.entries(device))} problems, {file}")
    return 0


def _shape(text):
    """B x Sq[/Sk] x N[/Nk] x D as (batch, query length, key length, heads, key heads, head_dim)."""
    match = _SHAPE.fullmatch(text)
    if match is None or 0 in [int(n) for n in match.groups() if n is not None]:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not BxSxNxD or BxSq/SkxN/NkxD with positive sizes, as in 1x4608x24x128"
        )
    batch, query, key, heads, key_heads, width = match.groups()
    return tuple(
        int(n) for n in (batch, query, key or query, heads, key_heads or heads, width)
    )


def tune(arguments):
    """Measures each shape on each device, and prints what is fastest."""
    dtype = _TYPES[arguments.type]
    for device in _devices():
        if len(_library.attention_backends(device.type)) < 2:
            only = ", ".join(_library.attention_backends(device.type)) or "math"
            print(f"{device}: only {only}, nothing to choose")
            continue
        for batch, queries, keys, heads, key_heads, width in arguments.shapes:
            query = torch.zeros(batch, queries, heads, width, dtype=dtype, device=device)
            key = torch.zeros(batch, keys, key_heads, width, dtype=dtype, device=device)
            if arguments.head_first:
                query, key = query.transpose(1, 2), key.transpose(1, 2)
            known = set(_memory.entries(device))
            with torch.inference_mode():
                attention_forward(
                    query, key, key, head_first=arguments.head_first, is_causal=arguments.causal
                )
            new = [k for k in _memory.entries(device) if k not in known]
            for entry in (_memory.entries(device)[k] for k in new):
                times = ", ".join(
                    f"{name} {seconds * 1e3:.3f} ms"
                    for name, seconds in sorted(entry["seconds"].items(), key=lambda item: item[1])
                )
                print(f"{device}: {batch}x{queries}/{keys}x{heads}/{key_heads}x{width}: {times}")
            if not new:
                print(f"{device}: {batch}x{queries}/{keys}x{heads}/{key_heads}x{width}: known")
    return 0


def _folder(text):
    """The folder as an absolute path."""
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is no folder")
    return path.resolve()


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m mindiesd", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("info", help="devices, back ends, versions, what is remembered")
    tuning = commands.add_parser("tune", help="measure the back ends of attention ahead of time")
    tuning.add_argument(
        "shapes", nargs="+", type=_shape, metavar="SHAPE",
        help="BxSxNxD: batch, sequence, heads, head_dim; Sq/Sk and N/Nk where they differ",
    )  # fmt: skip
    tuning.add_argument("--type", choices=_TYPES, default="bf16", help="default: bf16")
    tuning.add_argument("--causal", action="store_true", help="query i sees keys 0 to i")
    tuning.add_argument("--head-first", action="store_true", help="BxNxSxD in memory order BxSxNxD")
    profiling = commands.add_parser(
        "profile", help="launches, memory traffic and time of your own code, original and migrated"
    )
    profiling.add_argument(
        "target", metavar="MODULE:FUNCTION",
        help="a function without arguments that returns what runs the model once, alone or with a tensor of "
        "the size of the hidden states",
    )  # fmt: skip
    for code in ("original", "migrated"):
        profiling.add_argument(
            f"--{code}", type=_folder, metavar="DIR", help=f"where modules of the {code} code are looked for first"
        )
    arguments = parser.parse_args(argv)
    if arguments.command == "profile":
        return _profile.profile(arguments.target, arguments.original, arguments.migrated)
    return info() if arguments.command == "info" else tune(arguments)


if __name__ == "__main__":
    sys.exit(main())
