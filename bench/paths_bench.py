"""Whether any call that the shipped rules write is slower than the torch code that it replaces.

usage: python bench/paths_bench.py [--tokens N,N,...] [--only TEXT] [--types NAME,...] [--limit PERCENT]

Each call (bench/path_cases.py) and the lines that it replaces take turns, from one token to 65,536, eagerly, as a
model calls them: the time of a queue of calls until the device has finished, the host's included, the median of
rounds. First both have to give the same. Prints a row for each call with the ratio lines / ours for every number of
tokens, then the calls where ours took more than 3 % longer, and fails where there is one. Needs a CUDA device;
``--device cpu`` runs the same on the CPU, where rounds of a busy machine differ by more.
"""

import argparse
import statistics
import sys
import time

import torch
from path_cases import cases
from torch.utils._pytree import tree_leaves

TOKENS = (1, 16, 256, 4096, 16384, 65536)
TYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}


def finish(device):
    if device == "cuda":
        torch.cuda.synchronize()


def seconds(call, repeats, device):
    finish(device)
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    finish(device)
    return (time.perf_counter() - begin) / repeats


def compare(ours, lines, device, rounds, span):
    """lines / ours, of the medians of rounds in turns; a round lasts about ``span`` seconds."""
    for call in (ours, lines) * 2:
        call()
    guess = max(seconds(ours, 3, device), seconds(lines, 3, device))
    repeats = max(1, min(500, int(span / guess)))
    times = [[seconds(call, repeats, device) for call in (ours, lines)] for _ in range(rounds)]
    return statistics.median(t[1] for t in times) / statistics.median(t[0] for t in times)


def differs(ours, lines, dtype):
    """The text of what is not the same; None where all is."""
    tolerance = 1e-5 if dtype == torch.float32 else 1e-2
    for found, wanted in zip(tree_leaves(ours()), tree_leaves(lines()), strict=True):
        # The lines round between their steps, each value by up to a part of the largest that they add.
        most = tolerance * max(wanted.abs().max().item(), 1.0)
        try:
            torch.testing.assert_close(found, wanted, rtol=tolerance, atol=most, check_dtype=False)
        except AssertionError as error:
            return str(error).splitlines()[0]
    return None


def measure(options):
    """{(type, call): {tokens: lines / ours}}, and what gives another result."""
    ratios, wrong = {}, []
    for name in options.types.split(","):
        for tokens in options.tokens:
            for label, ours, lines in cases(tokens, TYPES[name], options.device):
                if options.only not in label:
                    continue
                if text := differs(ours, lines, TYPES[name]):
                    wrong.append(f"{name}, {label}, {tokens} tokens: {text}")
                ratio = compare(ours, lines, options.device, options.rounds, options.seconds)
                ratios.setdefault((name, label), {})[tokens] = ratio
    return ratios, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=lambda text: tuple(map(int, text.split(","))), default=TOKENS)
    parser.add_argument("--types", default="bfloat16", help=f"of {', '.join(TYPES)}")
    parser.add_argument("--only", default="", help="calls whose name has this text")
    parser.add_argument("--limit", type=float, default=3.0, help="percent by which ours may take longer")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.01, help="of a round")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        sys.exit("paths_bench needs a CUDA device, and torch sees none here")
    with torch.no_grad():
        ratios, wrong = measure(options)
    print(f"{'lines / ours, by tokens':<68}" + "".join(f"{tokens:>8}" for tokens in options.tokens))
    for (name, label), row in ratios.items():
        print(f"{name + ', ' + label:<68}" + "".join(f"{row[t]:8.2f}" for t in options.tokens))
    slow = [
        f"{name}, {label}, {tokens} tokens: {ratio:.2f}"
        for (name, label), row in ratios.items()
        for tokens, ratio in row.items()
        if ratio * (1 + options.limit / 100) < 1
    ]
    print(f"{len(slow)} calls are more than {options.limit:g} % slower than the lines that they replace:")
    for line in (*slow, *(f"another result: {text}" for text in wrong)):
        print(f"  {line}")
    return 1 if slow or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
