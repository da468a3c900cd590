"""How many requests a second one, two and more instances of a model answer. Entry point: ``throughput``."""

import collections
import dataclasses
import time

from ..utils import ParametersInvalid
from ._instances import _device, _whole, build, call_each
from ._requests import Arguments, Request
from ._workers import Workers, streams_for


@dataclasses.dataclass(frozen=True)
class Rate:
    """What so many instances achieve."""

    count: int
    per_second: float  # requests answered
    seconds: float  # of one request, from where it is handed over: the median


@dataclasses.dataclass(frozen=True)
class Throughput:
    """Rates by the count of instances, in the order in which they were measured."""

    rates: tuple
    gain: float  # by which a larger count must be faster to count as growth

    @property
    def best(self):
        """The count from which on the rate does not grow: no larger one is faster by more than ``gain``."""
        ordered = sorted(self.rates, key=lambda rate: rate.count)
        chosen = ordered[0]
        for rate in ordered[1:]:
            if rate.per_second > chosen.per_second * (1 + self.gain):
                chosen = rate
        return chosen.count

    def __str__(self):
        one = self.rates[0].per_second
        lines = ["instances  requests/s  of the first  median ms"]
        lines += [
            f"{r.count:9}  {r.per_second:10.2f}  {r.per_second / one:12.2f}  {r.seconds * 1e3:9.2f}" for r in self.rates
        ]
        return "\n".join([*lines, f"grows up to {self.best}"])


def _rate(workers, count, args, kwargs, device, seconds):
    """Keeps two requests for each instance under way for so many seconds, and counts those answered."""
    under_way, times = collections.deque(), []

    def hand_over():
        request = Request(args, kwargs, device)
        workers.queue.put(request, None)
        under_way.append((time.perf_counter(), request.future))

    def take():
        begun, future = under_way.popleft()
        future.result()
        times.append(time.perf_counter() - begun)

    for _ in range(count):  # not counted: every thread runs its model
        hand_over()
    while under_way:
        take()
    times.clear()
    begin = time.perf_counter()
    for _ in range(2 * count):
        hand_over()
    while time.perf_counter() - begin < seconds:
        take()
        hand_over()
    while under_way:
        take()
    end = time.perf_counter()
    return Rate(count, len(times) / (end - begin), sorted(times)[len(times) // 2])


def throughput(make, example, counts=(1, 2, 4, 8), device=None, *, seconds=1.0, gain=0.05):
    """Measures how many requests a second so many instances of a model answer, all with the same arguments.

    Args:
        make, device: as of ``Instances``. As many models are built as the largest count says.
        example: ``Arguments`` or the one argument of each request.
        counts: how many instances, each measured by itself.
        seconds: how long each is measured, after one request for each instance that does not count.
        gain: the part by which a larger count must be faster for ``best`` to be that count.

    Returns:
        A ``Throughput``, whose text is a table.
    """
    counts = tuple(_whole("each of counts", count) for count in counts)
    if not counts:
        raise ParametersInvalid("counts must name at least one number of instances, but is empty.")
    device = _device(device)
    models, weights = build(make, max(counts), device)
    streams = streams_for(len(models), device)
    call_each(models, streams, weights, example)
    args, kwargs = (example.args, example.kwargs) if isinstance(example, Arguments) else ((example,), {})
    rates = []
    for count in counts:
        workers = Workers(models[:count], streams[:count], 2 * count)
        try:
            rates.append(_rate(workers, count, args, kwargs, device, seconds))
        finally:
            workers.close(cancel=True)
    return Throughput(tuple(rates), gain)
