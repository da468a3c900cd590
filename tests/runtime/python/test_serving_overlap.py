"""mindiesd.overlap: order, errors and nesting on the CPU, and by stand-ins for streams which stream waits for which."""

import contextlib
import functools

import mindiesd
import pytest
import torch
from mindiesd.serving import _overlap
from mindiesd.utils import ParametersInvalid


class TestPlainCalls:
    def test_results_in_order(self):
        log = []
        results = mindiesd.overlap(lambda: log.append(1) or "a", lambda: log.append(2) or "b", lambda: log.append(3))
        assert results == ("a", "b", None) and log == [1, 2, 3]

    def test_random_numbers_are_those_of_plain_calls(self):
        torch.manual_seed(3)
        expected = (torch.rand(2), torch.rand(3))
        torch.manual_seed(3)
        found = mindiesd.overlap(functools.partial(torch.rand, 2), functools.partial(torch.rand, 3))
        assert all(torch.equal(*pair) for pair in zip(found, expected, strict=True))

    def test_nested(self):
        found = mindiesd.overlap(lambda: mindiesd.overlap(lambda: 1, lambda: 2), lambda: 3)
        assert found == ((1, 2), 3)

    @pytest.mark.parametrize("device", [None, "cpu"])
    def test_an_error_ends_it(self, device):
        ran = []

        def fail():
            raise KeyError("first")

        with pytest.raises(KeyError, match="first"):
            mindiesd.overlap(fail, lambda: ran.append(1), device=device)
        assert not ran

    def test_compiled(self):
        @torch.compile(backend="eager", fullgraph=True)
        def function(x):
            return mindiesd.overlap(lambda: x + 1, lambda: x * 2)

        found = function(torch.ones(2))
        assert float(found[0][0]) == 2 and float(found[1][0]) == 2

    def test_gradients(self):
        with torch.enable_grad():
            x = torch.ones(2, requires_grad=True)
            a, b = mindiesd.overlap(lambda: x * 2, lambda: x * 3)
            (a + b).sum().backward()
        assert torch.equal(x.grad, torch.full((2,), 5.0))


@pytest.mark.parametrize(
    "functions, options, message",
    [
        ((), {}, "two functions or more, but 0 is given"),
        ((int,), {}, "two functions or more, but 1 is given"),
        ((int, 3), {}, "functions without arguments, but int is given"),
        ((int, torch.ones(1)), {}, "but Tensor is given"),
        ((int, int), {"device": "meta"}, "device must be a CPU or CUDA device"),
    ],
)
def test_arguments_that_are_none(functions, options, message):
    with pytest.raises(ParametersInvalid, match=message):
        mindiesd.overlap(*functions, **options)


class Streams:
    """Stand-ins for torch's streams and events, which write down what is asked of them."""

    def __init__(self, distinct=40):
        self.log, self.made, self.distinct = [], 0, distinct
        self.now = self.Stream(self, "caller")

    class Stream:
        device = torch.device("cuda", 0)

        def __init__(self, world, name):
            self.world, self.name, self.cuda_stream = world, name, name

        def wait_event(self, event):
            self.world.log.append((self.name, "waits for", event.of))

        def __eq__(self, other):
            return self.name == other.name

        __hash__ = None

    class Event:
        of = None

        def record(self, stream):
            self.of = stream.name

    def new_stream(self, device):
        self.made += 1
        return self.Stream(self, f"side {self.made % self.distinct}")

    @contextlib.contextmanager
    def stream(self, stream):
        before, self.now = self.now, stream
        yield
        self.now = before

    def used_on(self, stream, *values):
        held = [v for value in values for v in (value if isinstance(value, (tuple, list)) else [value])]
        if held and held != [{}]:
            self.log.append((stream.name, "uses", [v for v in held if v != {}]))

    def call(self, name):
        self.log.append((self.now.name, "runs", name))
        return name


@pytest.fixture
def streams(monkeypatch):
    world = Streams()
    monkeypatch.setattr(_overlap, "_streams", _overlap._Streams())
    monkeypatch.setattr(_overlap, "used_on", world.used_on)
    for name, value in {
        "is_available": lambda: True, "is_initialized": lambda: True, "current_stream": lambda: world.now,
        "Stream": world.new_stream, "Event": world.Event, "stream": world.stream,
    }.items():  # fmt: skip
        monkeypatch.setattr(torch.cuda, name, value)
    return world


class TestStreams:
    def test_both_wait_for_the_caller_who_waits_for_both(self, streams):
        mindiesd.overlap(functools.partial(streams.call, "f"), lambda: streams.call("g"))
        assert streams.log == [
            ("side 1", "waits for", "caller"), ("side 1", "uses", ["f"]), ("side 1", "runs", "f"),
            ("side 2", "waits for", "caller"), ("side 2", "runs", "g"),
            ("caller", "waits for", "side 1"), ("caller", "waits for", "side 2"), ("caller", "uses", ["f", "g"]),
        ]  # fmt: skip

    def test_the_same_streams_serve_the_next_call(self, streams):
        for _ in range(3):
            mindiesd.overlap(lambda: 1, lambda: 2)
        assert streams.made == 2

    def test_who_fails_is_waited_for_as_well(self, streams):
        def fail():
            raise KeyError("f")

        with pytest.raises(KeyError, match="f"):
            mindiesd.overlap(fail, lambda: streams.call("g"))
        assert streams.log == [("side 1", "waits for", "caller"), ("caller", "waits for", "side 1")]

    def test_nested_calls_come_back_to_the_stream_they_leave(self, streams):
        mindiesd.overlap(lambda: mindiesd.overlap(lambda: streams.call(1), lambda: streams.call(2)), lambda: 3)
        waits = [(who, whom) for who, what, whom in streams.log if what == "waits for"]
        runs = {name: who for who, what, name in streams.log if what == "runs"}
        assert len({runs[1], runs[2], "side 1", "side 2"}) == 4
        for inner in runs.values():
            assert waits.index((inner, "side 1")) < waits.index(("side 1", inner)) < waits.index(("caller", "side 1"))

    def test_more_functions_than_streams(self, streams):
        streams.distinct = 3
        with pytest.raises(ParametersInvalid, match="5 calls are given, but torch has streams for 3 only"):
            mindiesd.overlap(*[lambda: 1] * 5)

    def test_on_the_cpu_on_request(self, streams):
        assert mindiesd.overlap(lambda: 1, lambda: 2, device="cpu") == (1, 2) and not streams.log
