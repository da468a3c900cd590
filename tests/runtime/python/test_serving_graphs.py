"""mindiesd.graphed on the CPU by the recorder of tape.py: results, signatures, the cache, and weights that change."""

import copy
import enum
import functools
import threading
import types
import warnings

import mindiesd
import pytest
import torch
from mindiesd.serving import _recorder, _signature
from mindiesd.serving._signature import Unfit
from mindiesd.utils import ParametersInvalid
from tape import TapeRecorder, graphed, same


class Counting(torch.nn.Module):
    """Counts how often its Python code runs, where no graph looks."""

    def __init__(self, counts):
        super().__init__()
        self.linear, self.ran = torch.nn.Linear(4, 4), counts.append

    def forward(self, x, scale=1.0, flag=None):
        self.ran(1)
        return self.linear(x) * scale


@pytest.fixture
def counted():
    counts = []
    model = Counting(counts)
    return graphed(model), model, counts


class TestCapture:
    def test_plain_calls_then_the_graph(self, counted):
        fast, model, counts = counted
        for number in range(6):
            x = torch.randn(2, 4)
            result = fast(x)
            assert len(counts) == min(number + 1, 3)  # two plain calls, one capture
            same(result, model.linear(x) * 1.0)
        assert fast.graphs == 1 and fast._recorder.replays == 4 and not fast.reasons

    def test_results_have_memory_of_their_own(self, counted):
        fast, model, _ = counted
        inputs = [torch.randn(2, 4) for _ in range(6)]
        results = [fast(x) for x in inputs]
        for x, result in zip(inputs, results, strict=True):
            same(result, model.linear(x) * 1.0)

    def test_results_that_the_next_call_overwrites_on_request(self):
        fast = graphed(torch.nn.Linear(4, 4), copy_results=False)
        results = [fast(torch.randn(2, 4)) for _ in range(4)]
        assert results[2].data_ptr() == results[3].data_ptr()

    def test_arguments_are_not_written(self, counted):
        fast, _, _ = counted
        x = torch.ones(2, 4)
        for _ in range(5):
            fast(x)
        assert torch.equal(x, torch.ones(2, 4))

    def test_keywords_containers_and_results_of_many_parts(self):
        def function(pair, *, more):
            a, b = pair
            return {"sum": a + b, "parts": [a * more["factor"], (b, 3, None, "text")]}

        fast = graphed(function)
        for _ in range(5):
            a, b = torch.randn(2, 3), torch.randn(3)
            result = fast((a, b), more={"factor": torch.tensor(2.0)})
            same(result["sum"], a + b)
            same(result["parts"][0], a * 2)
            assert result["parts"][1][0] is b and result["parts"][1][1:] == (3, None, "text")
        assert fast.graphs == 1

    def test_buffers_that_calls_write_go_on(self):
        class Writing(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("calls", torch.zeros(1))

            def forward(self, x):
                self.calls += 1
                return x * self.calls

        model = Writing()
        fast = graphed(model)
        for number in range(1, 7):
            same(fast(torch.ones(1)), torch.full((1,), float(number)))
        assert fast.graphs == 1 and float(model.calls) == 6

    def test_a_result_in_a_buffer_is_that_buffer(self):
        class Cache(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("cache", torch.zeros(3))

            def forward(self, x):
                self.cache.copy_(x)
                return self.cache

        model = Cache()
        fast = graphed(model)
        for _ in range(5):
            x = torch.randn(3)
            result = fast(x)
            assert result.data_ptr() == model.cache.data_ptr()
            same(result, x)
        assert fast.graphs == 1

    @pytest.mark.parametrize("make", [lambda: torch.randn(1, 4).expand(3, 4), lambda: torch.randn(4, 3).t(),
                                      lambda: torch.randn(3, 9)[:, ::2][:, :4], lambda: torch.randn(0, 4)])  # fmt: skip
    def test_layouts_are_kept(self, make):
        fast = graphed(lambda x: (x * 2, x.clone()))
        for _ in range(5):
            x = make()
            for found, expected in zip(fast(x), (x * 2, x.clone()), strict=True):
                same(found, expected)
                assert found.stride() == expected.stride()
        assert fast.graphs == 1

    def test_one_tensor_twice(self):
        def function(a, b):
            return a + 2 * b, a is b

        fast = graphed(function)
        for _ in range(5):
            x, y = torch.randn(3), torch.randn(3)
            assert torch.equal(fast(x, x)[0], x + 2 * x)
            assert torch.equal(fast(x, y)[0], x + 2 * y)
            assert torch.equal(fast(x, x.view(3))[0], x + 2 * x)
        assert fast.graphs == 2

    def test_autocast_is_part_of_the_signature(self):
        model = torch.nn.Linear(4, 4)
        fast = graphed(model)
        for _ in range(5):
            x = torch.randn(2, 4)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                assert fast(x).dtype == torch.bfloat16
                same(fast(x), model(x))
            assert fast(x).dtype == torch.float32
        assert fast.graphs == 2

    def test_inference_mode_is_part_of_the_signature(self):
        fast = graphed(torch.nn.Linear(4, 4))
        for _ in range(4):
            with torch.inference_mode():
                assert fast(torch.randn(2, 4)).is_inference()
            assert not fast(torch.randn(2, 4)).is_inference()
        assert fast.graphs == 2

    def test_inside_another_graph_it_is_a_plain_call(self):
        recorder = TapeRecorder()
        inner = mindiesd.graphed(lambda x: x + 1, recorder=recorder)
        outer = mindiesd.graphed(lambda x: inner(x) * 2, recorder=recorder)
        for _ in range(6):
            x = torch.randn(3)
            same(outer(x), (x + 1) * 2)
        assert outer.graphs == 1

    def test_several_threads(self):
        model = torch.nn.Linear(4, 4)
        fast, errors = graphed(model), []

        def work():
            for _ in range(40):
                x = torch.randn(2, 4)
                with torch.no_grad():
                    if not torch.equal(fast(x), model(x)):
                        errors.append(x)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors and fast.graphs == 1 and fast._recorder.records == 1


class Shade(enum.Enum):
    LIGHT = 1
    DARK = 2


class TestSignature:
    @pytest.mark.parametrize(
        "one, two",
        [
            (1, 1.0), (1, True), (0.0, -0.0), (1.0, 1.5), ("a", "b"), (None, 0), (1j, 2j), (Shade.LIGHT, Shade.DARK),
            (torch.float16, torch.bfloat16), ([1], (1,)), ([1], [1, 1]), ({"a": 1}, {"b": 1}), ({"a": 1}, {"a": 2}),
            (torch.zeros(2), torch.zeros(3)), (torch.zeros(2), torch.zeros(2).double()),
            (torch.zeros(2, 2), torch.zeros(2, 2).t()), (torch.zeros(1), torch.zeros(1, 1)),
            (torch.zeros(3, 1).expand(3, 2), torch.zeros(3, 2)), (torch.Size([1]), torch.Size([2])),
        ],
    )  # fmt: skip
    def test_calls_that_need_different_graphs(self, one, two):
        device = torch.device("cpu")
        keys = [_signature.Call((value,), {}, device).key for value in (one, two)]
        assert keys[0] != keys[1]
        assert keys[0] == _signature.Call((one,), {}, device).key
        assert _signature.Call((), {"x": one}, device).key != keys[0]

    def test_not_a_number_is_one_value(self):
        device = torch.device("cpu")
        one, two = (_signature.Call((float("nan"),), {}, device).key for _ in range(2))
        assert one == two

    @pytest.mark.parametrize(
        "value, message",
        [
            (object(), r"argument\[0\]\[0\] is of type object"),
            ({"a": [lambda: 0]}, r"argument\[0\]\[0\]\['a'\]\[0\] is of type function"),
            ({Shade: 1}, "has a key of type EnumType"),
            ({1, 2}, "is of type set"),
            (torch.zeros(1, device="meta"), "is on meta, not on cpu"),
            (torch.eye(2).to_sparse(), "is sparse or nested"),
            (torch.zeros(6).as_strided((3, 2), (1, 1)), "has elements that overlap"),
            (torch.zeros(2, dtype=torch.complex64).conj(), "lazy conjugate"),
            (types.SimpleNamespace(x=1), "is of type SimpleNamespace"),
        ],
    )
    def test_arguments_that_no_graph_takes(self, value, message):
        with pytest.raises(Unfit, match=message):
            _signature.Call((value,), {}, torch.device("cpu"))

    def test_parts_of_one_storage(self):
        x = torch.randn(8)
        call = _signature.Call((x[:4], x[4:]), {}, torch.device("cpu"))
        assert len(call.tensors) == 2
        with pytest.raises(Unfit, match="overlaps another argument"):
            _signature.Call((x[:5], x[4:]), {}, torch.device("cpu"))

    def test_settings(self):
        before = _signature.settings("cpu")
        torch.set_default_dtype(torch.float64)
        try:
            assert _signature.settings("cpu") != before
        finally:
            torch.set_default_dtype(torch.float32)
        with mindiesd.disable("norm"):
            assert _signature.settings("cpu") != before
        assert _signature.settings("cpu") == before
        with torch.device("meta"), pytest.raises(Unfit, match="mode"):
            _signature.settings("cpu")


class TestCache:
    def test_the_graph_not_used_for_longest_gives_way(self, counted):
        fast, model, counts = counted
        fast._most = 2

        def call(width, times=1):
            for _ in range(times):
                x = torch.randn(width, 4)
                same(fast(x), model.linear(x) * 1.0)

        call(1, 3)
        call(2, 3)
        call(1)
        call(3, 3)  # in place of 2
        assert fast.graphs == 2 and fast.evicted == 1 and len(counts) == 9
        call(1)
        call(3)
        assert len(counts) == 9
        call(2, 3)
        assert len(counts) == 12 and fast.evicted == 2

    def test_numbers_that_vary_are_never_captured(self, counted):
        fast, _, _ = counted
        for step in range(600):
            fast(torch.ones(1, 4), scale=step / 7)
        assert fast.graphs == 0 and fast._recorder.records == 0
        assert len(fast._seen) <= 256

    def test_warmup(self):
        for warmup in (1, 4):
            counts = []
            fast = graphed(Counting(counts), warmup=warmup)
            for _ in range(8):
                fast(torch.ones(1, 4))
            assert len(counts) == warmup + 1

    def test_calls_that_fail_are_no_warmup(self):
        failing = [True]

        def function(x):
            if failing[0]:
                raise KeyError("not yet")
            return x + 1

        fast = graphed(function)
        for _ in range(5):
            with pytest.raises(KeyError):
                fast(torch.ones(1))
        failing[0] = False
        fast(torch.ones(1)), fast(torch.ones(1))
        assert fast.graphs == 0
        fast(torch.ones(1))
        assert fast.graphs == 1

    def test_clear(self, counted):
        fast, _, counts = counted
        for _ in range(4):
            fast(torch.ones(1, 4))
        fast.clear()
        assert fast.graphs == 0
        fast(torch.ones(1, 4))
        assert len(counts) == 4


class TestWeights:
    def changes():  # noqa: N805 - makes the parameters below
        def load(model):
            model.load_state_dict({k: torch.randn_like(v) for k, v in model.state_dict().items()})

        def move(model):
            model.linear.weight.data = torch.randn(4, 4)

        def replace(model):
            model.linear.weight = torch.nn.Parameter(torch.randn(4, 4), requires_grad=False)

        def exchange(model):
            model.linear = torch.nn.Linear(4, 4)

        def hook(model):
            model.linear.register_forward_hook(lambda module, args, result: result + 1)

        def train(model):
            model.train()

        return [load, move, replace, exchange, hook, train]

    @pytest.mark.parametrize("change", changes())
    def test_changes_are_seen(self, counted, change):
        fast, model, counts = counted
        model.eval()
        for _ in range(4):
            fast(torch.ones(1, 4))
        change(model)
        for _ in range(4):
            x = torch.randn(1, 4)
            same(fast(x), model.linear(x) * 1.0)
        # Values that are loaded into the same memory need no new graph.
        assert len(counts) == (3 if change.__name__ == "load" else 6)
        assert fast.graphs == 1

    @pytest.mark.parametrize("kind", ["attribute", "list", "tuple", "object", "dictionary", "moved"])
    def test_tensors_outside_parameters_and_buffers_are_seen(self, kind):
        class Holding(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.set(1.0)

            def set(self, value):
                tensor = torch.full((3,), value)
                self.attribute, self.list, self.tuple = tensor, [tensor], ((tensor,),)
                self.object, self.dictionary = types.SimpleNamespace(value=tensor), {"a": {"b": tensor}}

            def forward(self, x):
                held = {
                    "attribute": self.attribute, "list": self.list[0], "tuple": self.tuple[0][0],
                    "object": self.object.value, "dictionary": self.dictionary["a"]["b"], "moved": self.attribute,
                }  # fmt: skip
                return x * held[kind]

        model, tensor = Holding(), torch.full((3,), 5.0)
        fast = graphed(model)
        for _ in range(4):
            fast(torch.ones(3))
        if kind == "tuple":
            model.tuple = ((tensor,),)
        elif kind == "list":
            model.list[0] = tensor
        elif kind == "object":
            model.object.value = tensor
        elif kind == "dictionary":
            model.dictionary["a"]["b"] = tensor
        elif kind == "moved":
            model.attribute.data = tensor
        else:
            model.attribute = tensor
        same(fast(torch.ones(3)), tensor)

    def test_tensors_made_by_the_first_call_are_seen(self):
        class Lazy(torch.nn.Module):
            table = None

            def forward(self, x):
                if self.table is None:
                    self.table = torch.full((3,), 2.0)
                return x * self.table

        model = Lazy()
        fast = graphed(model)
        for _ in range(4):
            fast(torch.ones(3))
        assert fast.graphs == 1
        model.table = torch.full((3,), 4.0)
        same(fast(torch.ones(3)), torch.full((3,), 4.0))

    def test_a_tensor_that_a_function_closes_over(self):
        bias = torch.ones(3)
        fast = graphed(lambda x: x + bias)
        for _ in range(4):
            fast(torch.ones(3))
        assert fast.graphs == 1
        bias = torch.full((3,), 7.0)
        same(fast(torch.ones(3)), torch.full((3,), 8.0))

    def test_a_module_that_a_function_closes_over(self):
        model = torch.nn.Linear(4, 4)
        fast = graphed(lambda x: model(x))
        for _ in range(4):
            fast(torch.ones(1, 4))
        model = torch.nn.Linear(4, 4)
        x = torch.randn(1, 4)
        same(fast(x), model(x))


def test_a_copy_captures_by_itself():
    fast = graphed(torch.nn.Linear(3, 2))
    for _ in range(4):
        fast(torch.ones(1, 3))
    other = copy.deepcopy(fast)
    assert other.graphs == 0 and other.weight is not fast.weight
    for _ in range(4):
        x = torch.randn(1, 3)
        same(other(x), fast(x))
    assert other.graphs == 1


def test_compiled_code_has_the_plain_call():
    fast = graphed(torch.nn.Linear(3, 2))
    compiled = torch.compile(lambda x: fast(x) + 1, backend="eager", fullgraph=True)
    for _ in range(4):
        x = torch.randn(1, 3)
        same(compiled(x), fast._function(x) + 1)
    assert fast.graphs == 0


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.bfloat16, torch.bool, torch.complex64, torch.uint8])
def test_types(dtype):
    fast = graphed(lambda x: x.to(torch.float32 if not dtype.is_complex else dtype) * 2)
    for _ in range(5):
        x = torch.randint(0, 2, (3,)).to(dtype)
        same(fast(x), x.to(torch.float32 if not dtype.is_complex else dtype) * 2)
    assert fast.graphs == 1, fast.reasons


def test_attributes_are_the_models():
    model = torch.nn.Linear(3, 2)
    fast = graphed(model)
    assert fast.in_features == 3 and fast.weight is model.weight
    with pytest.raises(AttributeError):
        fast.nothing  # noqa: B018
    assert "graphed(Linear, 0 of 8 graphs)" == repr(fast)


@pytest.mark.parametrize(
    "arguments, options, message",
    [
        ((3,), {}, "function must be a module or function"),
        ((abs, 0), {}, "max_graphs must be a whole number from 1 on"),
        ((abs, True), {}, "max_graphs must be"),
        ((abs,), {"warmup": 0}, "warmup must be a whole number from 1 on"),
    ],
)
def test_arguments_that_are_none(arguments, options, message):
    with pytest.raises(ParametersInvalid, match=message):
        mindiesd.graphed(*arguments, **options)


def test_the_recorder_of_cuda_has_the_methods_of_the_tape():
    for name in ("device", "capturing", "record", "begin", "end", "wait"):
        assert callable(getattr(TapeRecorder, name)) and callable(getattr(_recorder.CudaRecorder, name))


def test_a_module_of_transformers_results():
    transformers = pytest.importorskip("transformers")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = transformers.CLIPVisionConfig(
            hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
            image_size=16, patch_size=8,
        )  # fmt: skip
        model = transformers.CLIPVisionModel(config).eval()
    fast = graphed(functools.partial(model, output_hidden_states=True))
    for _ in range(4):
        x = torch.randn(1, 3, 16, 16)
        found, expected = fast(pixel_values=x), model(pixel_values=x, output_hidden_states=True)
        assert type(found) is type(expected)
        same(found.pooler_output, expected.pooler_output)
        same(found.hidden_states, expected.hidden_states)
    assert fast.graphs == 1, fast.reasons
