"""Serving on a GPU: streams, memory that two streams use, and graphs."""

import functools
import gc
import threading

import mindiesd
import pytest
import torch
from mindiesd import serving

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


class Busy(torch.nn.Module):
    """Some milliseconds of matrix products, whose result is that of the first."""

    def __init__(self, times=20, size=512):
        super().__init__()
        self.linear, self.times = torch.nn.Linear(size, size), times

    def forward(self, x):
        y = self.linear(x)
        for _ in range(self.times):
            self.linear(self.linear(x))
        return y + 0


def rows(n=256, size=512):
    return torch.randn(n, size, device="cuda")


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


class TestInstances:
    def test_results_are_those_of_the_model(self):
        with mindiesd.Instances(Busy, 4, "cuda", example=rows()) as instances:
            inputs = [rows() for _ in range(32)]
            expected = [instances.models[0](x) for x in inputs]
            for found, one in zip(instances.map(inputs), expected, strict=True):
                close(found, one)
            assert {m.linear.weight.data_ptr() for m in instances.models} == {
                instances.models[0].linear.weight.data_ptr()
            }

    def test_weights_take_memory_once(self):
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated()
        with mindiesd.Instances(functools.partial(torch.nn.Linear, 4096, 4096, bias=False), 4) as instances:
            gc.collect()
            assert torch.cuda.memory_allocated() - before < 1.5 * 4096 * 4096 * 4
            assert instances.sharing.shared_bytes == 4096 * 4096 * 4

    def test_arguments_may_be_under_way_on_any_stream(self):
        side = torch.cuda.Stream()
        with mindiesd.Instances(lambda: lambda x: x + 1, 2, "cuda") as instances:
            for number in range(20):
                with torch.cuda.stream(side):
                    torch.cuda._sleep(2_000_000)
                    future = instances.submit(torch.full((1 << 16,), float(number), device="cuda"))
                assert bool((future.result() == number + 1).all())

    def test_memory_of_arguments_and_results_is_not_used_too_early(self):
        def make():
            def function(x):
                torch.cuda._sleep(1_000_000)
                return x * 2

            return function

        with mindiesd.Instances(make, 2, "cuda", waiting=8) as instances:
            futures = []
            for number in range(40):
                futures.append(instances.submit(torch.full((1 << 16,), float(number), device="cuda")))
                torch.full((1 << 16,), -1.0, device="cuda")  # would get the memory of an argument freed too early
            for number, future in enumerate(futures):
                result = future.result()
                torch.cuda._sleep(500_000)
                kept = result + 1
                del result, future
                futures[number] = None
                assert bool((kept == 2 * number + 1).all())

    def test_errors_do_not_stop_the_others(self):
        with mindiesd.Instances(Busy, 2, "cuda") as instances:
            values = list(instances.map([rows(), rows(size=3), rows()], return_errors=True))
            assert isinstance(values[1], RuntimeError)
            assert values[0].shape == values[2].shape == (256, 512)

    def test_each_has_a_stream_of_its_own(self):
        meeting = threading.Barrier(3)

        def make():
            def function():
                meeting.wait(30)
                return torch.cuda.current_stream().cuda_stream

            return function

        with mindiesd.Instances(make, 3, "cuda") as instances:
            found = [f.result() for f in [instances.submit() for _ in range(3)]]
        assert len(set(found)) == 3 and torch.cuda.default_stream().cuda_stream not in found

    def test_graphs_in_instances(self):
        def make():
            return mindiesd.graphed(Busy(), warmup=1)

        x = rows()
        with mindiesd.Instances(make, 3, "cuda", example=x) as instances:
            inputs = [rows() for _ in range(48)]
            model = instances.models[0]._function
            expected = [model(one) for one in inputs]
            for found, one in zip(instances.map(inputs), expected, strict=True):
                close(found, one)
            assert any(model.graphs for model in instances.models), [m.reasons for m in instances.models]

    def test_attention_of_the_runtime(self):
        def make():
            return lambda x: mindiesd.attention_forward(x, x, x)

        inputs = [torch.randn(2, n, 4, 64, device="cuda", dtype=torch.float16) for n in (64, 128, 65, 256) * 8]
        with mindiesd.Instances(make, 4, "cuda") as instances:
            for x, found in zip(inputs, instances.map(inputs), strict=True):
                torch.testing.assert_close(found, make()(x), rtol=2e-2, atol=2e-2)

    def test_a_capture_is_refused(self):
        with mindiesd.Instances(lambda: lambda x: x + 1, 1, "cuda") as instances:
            x = rows()
            with pytest.raises(RuntimeError, match="does not capture"):
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    x + 1
                    instances.submit(x)

    def test_rates(self):
        measured = serving.throughput(Busy, rows(), (1, 2), "cuda", seconds=0.2)
        assert all(rate.per_second > 0 for rate in measured.rates)


class TestOverlap:
    def test_results_are_those_of_plain_calls(self):
        f, g = Busy().cuda(), Busy().cuda()
        for _ in range(10):
            x, y = rows(), rows()
            found = mindiesd.overlap(lambda x=x: f(x), functools.partial(g, y))
            close(found[0], f(x))
            close(found[1], g(y))

    def test_it_waits_before_and_behind(self):
        x = torch.zeros(1 << 20, device="cuda")
        for number in range(1, 11):
            torch.cuda._sleep(2_000_000)
            x.fill_(number)

            def late(factor, x=x):
                torch.cuda._sleep(1_000_000)
                return x * factor

            a, b = mindiesd.overlap(functools.partial(late, 2), functools.partial(late, 3))
            x.zero_()  # behind both
            assert bool((a == 2 * number).all()) and bool((b == 3 * number).all())

    def test_memory_of_results_is_not_used_too_early(self):
        def make(value):
            return lambda: torch.full((1 << 18,), float(value), device="cuda")

        kept = []
        for number in range(20):
            a, b = mindiesd.overlap(make(number), make(-number))
            torch.cuda._sleep(1_000_000)
            kept.append((a + 0, b + 0))
            del a, b  # their memory goes back to the side streams, which the next call uses
        for number, (a, b) in enumerate(kept):
            assert bool((a == number).all()) and bool((b == -number).all())

    def test_they_run_at_the_same_time(self):
        def sleep():
            torch.cuda._sleep(200_000_000)

        def seconds(function):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            function()
            end.record()
            end.synchronize()
            return begin.elapsed_time(end)

        mindiesd.overlap(sleep, sleep)
        assert seconds(lambda: mindiesd.overlap(sleep, sleep)) < 0.75 * seconds(lambda: (sleep(), sleep()))

    def test_nested_and_failing(self):
        x = rows()

        def fail():
            raise KeyError("own")

        a, (b, c) = mindiesd.overlap(lambda: x + 1, lambda: mindiesd.overlap(lambda: x + 2, lambda: x + 3))
        assert torch.equal(a, x + 1) and torch.equal(b, x + 2) and torch.equal(c, x + 3)
        with pytest.raises(KeyError, match="own"):
            mindiesd.overlap(lambda: x + 1, fail)
        assert torch.cuda.current_stream() == torch.cuda.default_stream()

    def test_in_a_graph(self):
        f, g = Busy().cuda(), Busy().cuda()
        x = rows()

        def both(x):
            a, b = mindiesd.overlap(lambda: f(x), lambda: g(x))
            return a - b

        for _ in range(2):
            both(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = both(x)
        for _ in range(5):
            x.copy_(rows())
            graph.replay()
            close(result, f(x) - g(x))

    def test_gradients(self):
        f, g = Busy(2).cuda(), Busy(2).cuda()
        x = rows()
        with torch.enable_grad():
            x.requires_grad_()
            sum(mindiesd.overlap(lambda: f(x), lambda: g(x))).sum().backward()
            found, x.grad = x.grad, None
            (f(x) + g(x)).sum().backward()
        close(found, x.grad)

    def test_random_numbers_are_those_of_plain_calls(self):
        torch.manual_seed(3)
        expected = torch.rand(5, device="cuda"), torch.rand(7, device="cuda")
        torch.manual_seed(3)
        found = mindiesd.overlap(lambda: torch.rand(5, device="cuda"), lambda: torch.rand(7, device="cuda"))
        assert all(torch.equal(*pair) for pair in zip(found, expected, strict=True))


class TestGraphed:
    def test_results_are_those_of_plain_calls(self):
        model = Busy().cuda()
        fast = mindiesd.graphed(model)
        results = []
        for n in (256, 128, 256, 64) * 6:
            x = rows(n)
            results.append((fast(x), model(x)))
        for found, expected in results:
            close(found, expected)
        assert fast.graphs == 3 and not fast.reasons

    def test_few_graphs(self):
        model = Busy(2).cuda()
        fast = mindiesd.graphed(model, max_graphs=2, warmup=1)
        for n in (8, 16, 24, 32) * 3:
            for _ in range(4):
                x = rows(n)
                close(fast(x), model(x))
        assert fast.graphs == 2 and fast.evicted == 10

    def test_autocast(self):
        model = Busy(2).cuda()
        fast = mindiesd.graphed(model)
        for _ in range(6):
            x = rows()
            with torch.autocast("cuda", dtype=torch.float16):
                found = fast(x)
            junk = [torch.full((512, 512), 9.0, device="cuda", dtype=torch.float16) for _ in range(8)]
            with torch.autocast("cuda", dtype=torch.float16):
                torch.testing.assert_close(found, model(x), rtol=1e-2, atol=1e-2)
            del junk
        assert fast.graphs == 1

    def test_dropout_draws_anew(self):
        fast = mindiesd.graphed(lambda x: torch.nn.functional.dropout(x, 0.5))
        x = torch.ones(1 << 14, device="cuda")
        results = [fast(x) for _ in range(6)]
        assert fast.graphs == 1
        for one, two in zip(results, results[1:]):
            assert not torch.equal(one, two)
            assert 0.4 < float((two == 0).float().mean()) < 0.6

    def test_what_cannot_be_captured(self):
        def function(x):
            y = torch.rand(3, device="cuda")
            return x * float(x.sum() > 0) + 0 * y.sum()

        fast = mindiesd.graphed(function)
        for sign in (1, -1, 1, -1, 1):
            x = sign * torch.ones(4, device="cuda")
            close(fast(x), x * (sign > 0))
        assert "no capture" in " ".join(fast.reasons), fast.reasons
        assert torch.cuda.current_stream() == torch.cuda.default_stream()
        # What a failed capture leaves behind does not hurt: random numbers, and later captures.
        assert torch.nn.functional.dropout(torch.ones(64, device="cuda")).shape == (64,)
        other = mindiesd.graphed(lambda x: x + torch.rand_like(x))
        for _ in range(4):
            other(torch.ones(4, device="cuda"))
        assert other.graphs == 1, other.reasons

    def test_tensors_of_the_cpu_stay_plain(self):
        fast = mindiesd.graphed(lambda x, t: x * t)
        for step in range(6):
            x = torch.ones(4, device="cuda")
            close(fast(x, torch.tensor(float(step))), x * step)
        assert fast.graphs == 0 and "is on cpu" in " ".join(fast.reasons)

    def test_several_streams_and_threads(self):
        model = Busy(4).cuda()
        fast, wrong = mindiesd.graphed(model), []

        def work():
            with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(20):
                    x = rows()
                    found = fast(x)
                    if not torch.allclose(found, model(x), rtol=1e-4, atol=1e-4):
                        wrong.append(x)
                torch.cuda.current_stream().synchronize()

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong and fast.graphs == 1, fast.reasons

    def test_overlap_in_a_graph(self):
        f, g = Busy(4).cuda(), Busy(4).cuda()
        fast = mindiesd.graphed(lambda x: sum(mindiesd.overlap(lambda: f(x), lambda: g(x))))
        for _ in range(6):
            x = rows()
            close(fast(x), f(x) + g(x))
        assert fast.graphs == 1, fast.reasons

    def test_operators_of_the_runtime(self):
        norm = mindiesd.RMSNorm(64).cuda().half()

        def function(x):
            return mindiesd.attention_forward(norm(x), x, x)

        fast = mindiesd.graphed(function)
        for _ in range(6):
            x = torch.randn(2, 128, 4, 64, device="cuda", dtype=torch.float16)
            torch.testing.assert_close(fast(x), function(x), rtol=1e-2, atol=1e-2)
        assert fast.graphs == 1, fast.reasons
