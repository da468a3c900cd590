"""mindiesd.Instances on the CPU: order, errors, sharing, back pressure, closing, and what is refused."""

import concurrent.futures
import gc
import os
import threading
import time
import weakref

import mindiesd
import pytest
import torch
from mindiesd import serving
from mindiesd.utils import ModelInitError, ParametersInvalid

WAIT = 30  # seconds after which a test that hangs fails


class Small(torch.nn.Module):
    """A parameter, a buffer that calls read, one that they write, and a table in a plain attribute."""

    def __init__(self, width=4):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)
        self.register_buffer("table", torch.randn(width))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.plain = torch.randn(width)

    def forward(self, x):
        self.calls += 1
        return self.linear(x) + self.table + self.plain


class Doubling(torch.nn.Module):
    def forward(self, x):
        return 2 * x


class Gate(torch.nn.Module):
    """Waits in each call until the test opens it."""

    def __init__(self):
        super().__init__()
        self.begun, self.open = threading.Semaphore(0), threading.Event()

    def forward(self, x):
        self.begun.release()
        assert self.open.wait(WAIT)
        return x


def gated(count, **options):
    """Instances that wait, and the gates that hold them."""
    gates = []

    def make():
        gates.append(Gate())
        return gates[-1]

    return mindiesd.Instances(make, count, "cpu", **options), gates


class TestCalls:
    def test_results_are_in_the_order_of_the_inputs(self):
        class Slow(torch.nn.Module):
            def forward(self, x):
                time.sleep(0.02 if int(x) % 3 == 0 else 0)
                return x + 1

        inputs = [torch.tensor(i) for i in range(20)]
        with mindiesd.Instances(Slow, 4, "cpu") as instances:
            assert [int(y) for y in instances.map(inputs)] == list(range(1, 21))

    def test_they_run_at_the_same_time(self):
        together = threading.Barrier(3)

        class Meeting(torch.nn.Module):
            def forward(self, x):
                together.wait(WAIT)
                return x

        with mindiesd.Instances(Meeting, 3, "cpu") as instances:
            assert len(list(instances.map(range(6)))) == 6

    def test_every_instance_computes_what_the_first_does(self):
        meeting = threading.Barrier(3)

        class Meeting(Small):
            def forward(self, x):
                meeting.wait(WAIT)
                return super().forward(x)

        x = torch.randn(2, 4)
        with mindiesd.Instances(Meeting, 3, "cpu") as instances:
            results = list(instances.map([x, x, x]))
            first = instances.models[0]
            for result in results:
                assert torch.equal(result, first.linear(x) + first.table + first.plain)

    def test_arguments_and_keywords(self):
        def make():
            return lambda x, /, y=0, *, self=0: (x, y, self)

        with mindiesd.Instances(make, 2, "cpu") as instances:
            assert instances.submit(1, y=2, self=3).result(WAIT) == (1, 2, 3)
            inputs = [serving.Arguments(1, y=5), (7, 8), serving.Arguments(2, self=1)]
            assert list(instances.map(inputs)) == [(1, 5, 0), ((7, 8), 0, 0), (2, 0, 1)]

    def test_no_gradients_are_recorded(self):
        with torch.enable_grad(), mindiesd.Instances(Small, 1, "cpu") as instances:
            result = instances.submit(torch.randn(2, 4, requires_grad=True)).result(WAIT)
        assert not result.requires_grad and not result.is_inference()

    def test_the_settings_of_the_thread_that_asks_hold(self):
        with mindiesd.Instances(Small, 1, "cpu") as instances:
            x = torch.randn(2, 4)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                cast = instances.submit(x)
                expected = instances.models[0](x)
            plain = instances.submit(x)
            with torch.inference_mode():
                inference = instances.submit(x)
            assert torch.equal(cast.result(WAIT), expected)
            assert not torch.equal(plain.result(WAIT), expected)
            assert inference.result(WAIT).is_inference() and not plain.result().is_inference()

    def test_the_default_device_of_the_thread_that_asks_holds(self):
        def make():
            return lambda: torch.ones(2)

        with mindiesd.Instances(make, 1, "cpu") as instances:
            with torch.device("meta"):
                there = instances.submit()
            here = instances.submit()
            assert there.result(WAIT).device.type == "meta" and here.result(WAIT).device.type == "cpu"

    def test_futures_work_with_the_standard_library(self):
        with mindiesd.Instances(Doubling, 2, "cpu") as instances:
            futures = [instances.submit(i) for i in range(4)]
            done = concurrent.futures.as_completed(futures, WAIT)
            assert sorted(future.result() for future in done) == [0, 2, 4, 6]


class TestErrors:
    def test_an_error_is_that_of_its_request(self):
        class Picky(torch.nn.Module):
            def forward(self, x):
                if x == 2:
                    raise KeyError("two")
                return x

        with mindiesd.Instances(Picky, 2, "cpu") as instances:
            results = instances.map(range(5))
            assert [next(results), next(results)] == [0, 1]
            with pytest.raises(KeyError, match="two"):
                next(results)
            assert list(results) == [3, 4]
            values = list(instances.map(range(4), return_errors=True))
            assert values[:2] == [0, 1] and isinstance(values[2], KeyError) and values[3] == 3

    def test_a_thread_outlives_an_exit(self):
        class Leaving(torch.nn.Module):
            def forward(self, x):
                raise SystemExit(x)

        with mindiesd.Instances(Leaving, 1, "cpu") as instances:
            for code in (1, 2):
                with pytest.raises(SystemExit, match=str(code)):
                    instances.submit(code).result(WAIT)

    def test_an_error_of_the_inputs_comes_behind_their_results(self):
        def inputs():
            yield from (1, 2)
            raise ValueError("no third input")

        with mindiesd.Instances(Doubling, 2, "cpu") as instances:
            results = instances.map(inputs())
            assert [next(results), next(results)] == [2, 4]
            with pytest.raises(ValueError, match="no third input"):
                next(results)
            with pytest.raises(StopIteration):
                next(results)

    def test_an_instance_does_not_wait_for_an_instance(self):
        calls = []

        def make():
            return lambda x: calls[0].submit(x)

        with mindiesd.Instances(make, 1, "cpu") as instances:
            calls.append(instances)
            with pytest.raises(RuntimeError, match="must not wait for an instance"):
                instances.submit(1).result(WAIT)
            calls.clear()

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_a_fork_has_no_threads(self):
        with mindiesd.Instances(Doubling, 1, "cpu") as instances:
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    instances.submit(1)
                except RuntimeError as error:
                    code = 0 if "parent process" in str(error) else 2
                finally:
                    os._exit(code)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class TestBackPressure:
    def test_who_submits_more_than_may_wait_waits(self):
        instances, gates = gated(1, waiting=2)
        with instances:
            first = instances.submit(0)
            assert gates[0].begun.acquire(timeout=WAIT)
            waiting = [instances.submit(i) for i in (1, 2)]
            submitted = threading.Event()

            def more():
                waiting.append(instances.submit(3))
                submitted.set()

            thread = threading.Thread(target=more)
            thread.start()
            assert not submitted.wait(0.1)
            gates[0].open.set()
            assert submitted.wait(WAIT)
            thread.join()
            assert [f.result(WAIT) for f in (first, *waiting)] == [0, 1, 2, 3]

    def test_a_timeout_says_that_there_was_no_room(self):
        instances, gates = gated(1, waiting=1, timeout=0.05)
        with instances:
            instances.submit(0)
            assert gates[0].begun.acquire(timeout=WAIT)
            kept = instances.submit(1)
            with pytest.raises(TimeoutError, match="1 requests wait and none was taken in 0.05 s"):
                instances.submit(2)
            gates[0].open.set()
            assert kept.result(WAIT) == 1

    def test_inputs_are_read_no_further_ahead_than_there_is_room(self):
        read = []

        def inputs():
            for i in range(100):
                read.append(i)
                yield i

        instances, gates = gated(1, waiting=2)
        with instances:
            results = instances.map(inputs())
            assert len(read) == 3
            gates[0].open.set()
            assert next(results) == 0 and len(read) <= 4
            assert list(results) == list(range(1, 100))

    def test_a_result_that_is_late_can_be_asked_for_again(self):
        instances, gates = gated(1)
        with instances:
            results = instances.map([1], timeout=0.05)
            with pytest.raises(TimeoutError, match="asked for again"):
                next(results)
            gates[0].open.set()
            time.sleep(0.1)
            assert next(results) == 1

    def test_what_nobody_asks_for_any_more_is_cancelled(self):
        instances, gates = gated(1, waiting=4)
        with instances:
            results = instances.map(range(5))
            assert gates[0].begun.acquire(timeout=WAIT)
            del results
            gc.collect()
            gates[0].open.set()
            assert instances.submit(9).result(WAIT) == 9
        assert gates[0].begun.acquire(blocking=False)  # the ninth
        assert not gates[0].begun.acquire(blocking=False)


class TestClosing:
    def test_what_waits_is_answered(self):
        instances = mindiesd.Instances(Doubling, 1, "cpu", waiting=8)
        futures = [instances.submit(i) for i in range(8)]
        instances.close()
        assert [f.result(0) for f in futures] == [2 * i for i in range(8)]
        instances.close()
        with pytest.raises(RuntimeError, match="closed"):
            instances.submit(1)
        with pytest.raises(RuntimeError, match="closed"):
            next(instances.map([1]))

    def test_an_error_in_the_with_statement_cancels_what_waits(self):
        instances, gates = gated(1, waiting=2)
        with pytest.raises(KeyError), instances:
            begun = instances.submit(0)
            waiting = instances.submit(1)
            assert gates[0].begun.acquire(timeout=WAIT)
            threading.Timer(0.1, gates[0].open.set).start()
            raise KeyError
        assert begun.result(0) == 0 and waiting.cancelled()

    def test_who_waits_for_room_is_told(self):
        instances, gates = gated(1, waiting=1)
        instances.submit(0)
        assert gates[0].begun.acquire(timeout=WAIT)
        instances.submit(1)
        errors = []

        def more():
            try:
                instances.submit(2)
            except RuntimeError as error:
                errors.append(str(error))

        thread = threading.Thread(target=more)
        thread.start()
        time.sleep(0.05)
        threading.Timer(0.1, gates[0].open.set).start()
        instances.close(cancel=True)
        thread.join(WAIT)
        # It may have found room just before the end.
        assert not errors or "closed" in errors[0]
        assert not thread.is_alive()

    def test_threads_end_with_the_instances(self):
        before = threading.active_count()
        instances = mindiesd.Instances(Doubling, 3, "cpu")
        assert threading.active_count() == before + 3
        assert instances.submit(2).result(WAIT) == 4
        del instances
        gc.collect()
        assert threading.active_count() == before

    def test_arguments_and_results_are_not_kept(self):
        with mindiesd.Instances(Doubling, 1, "cpu") as instances:
            x = torch.ones(3)
            kept = weakref.ref(x)
            future = instances.submit(x)
            future.result(WAIT)
            result = weakref.ref(future.result())
            del x, future
            instances.submit(torch.ones(1)).result(WAIT)  # the thread has left the first request
            gc.collect()
            assert kept() is None and result() is None

    def test_a_cancelled_request_does_not_run(self):
        instances, gates = gated(1)
        with instances:
            instances.submit(0)
            assert gates[0].begun.acquire(timeout=WAIT)
            future = instances.submit(1)
            assert future.cancel()
            gates[0].open.set()
            assert instances.submit(2).result(WAIT) == 2
        assert gates[0].begun.acquire(blocking=False)
        assert not gates[0].begun.acquire(blocking=False)


@pytest.mark.parametrize("count", [0, -1, 1.0, True, None, "2"])
def test_counts_that_are_none(count):
    with pytest.raises(ParametersInvalid, match="count must be a whole number from 1 on"):
        mindiesd.Instances(Doubling, count, "cpu")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (dict(device="nowhere"), "device must be a device of torch"),
        (dict(device="meta"), "device must be a CPU or CUDA device"),
        (dict(waiting=0), "waiting must be a whole number"),
        (dict(timeout=-1), "timeout must be seconds"),
        (dict(timeout="1"), "timeout must be seconds"),
        (dict(make=Doubling()), None),
        (dict(make=3), "make must be a function"),
    ],
)
def test_arguments_that_are_none(arguments, message):
    options = dict(make=Doubling, device="cpu") | arguments
    if message is None:  # a model in place of what makes one
        with pytest.raises(TypeError):
            mindiesd.Instances(options.pop("make"), 1, **options)
        return
    with pytest.raises(ParametersInvalid, match=message):
        mindiesd.Instances(options.pop("make"), 1, **options)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is there")
def test_a_device_that_is_not_there():
    with pytest.raises(ParametersInvalid, match="finds no CUDA device"):
        mindiesd.Instances(Doubling, 1, "cuda")


def test_errors_of_make_and_of_the_example_are_the_callers():
    def make():
        raise KeyError("no weights")

    before = threading.active_count()
    with pytest.raises(KeyError, match="no weights"):
        mindiesd.Instances(make, 2, "cpu")
    with pytest.raises(RuntimeError, match="shape"):
        mindiesd.Instances(Small, 2, "cpu", example=torch.randn(2, 3))
    assert threading.active_count() == before


def test_rates_are_measured():
    measured = serving.throughput(Small, torch.randn(1, 4), (1, 2), "cpu", seconds=0.05)
    assert [rate.count for rate in measured.rates] == [1, 2]
    assert all(rate.per_second > 0 and rate.seconds > 0 for rate in measured.rates)
    assert str(measured).splitlines()[-1] == f"grows up to {measured.best}"
    with pytest.raises(ParametersInvalid, match="counts must name"):
        serving.throughput(Small, torch.randn(1, 4), (), "cpu")


@pytest.mark.parametrize(
    "rates, best",
    [((10, 19, 20, 20), 2), ((10, 9, 8, 7), 1), ((10, 20, 30, 40), 4), ((10, 10, 11, 12), 4)],
)
def test_growth_ends_where_no_larger_count_is_faster(rates, best):
    measured = serving.Throughput(tuple(serving.Rate(i, r, 1.0) for i, r in enumerate(rates, 1)), 0.06)
    assert measured.best == best


def test_names():
    assert mindiesd.Instances is serving.Instances and mindiesd.overlap is serving.overlap
    assert ModelInitError.__module__ == "mindiesd.utils"
