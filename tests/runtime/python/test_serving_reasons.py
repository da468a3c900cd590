"""Which calls mindiesd.graphed leaves plain, and the reasons that it keeps, on the CPU by the recorder of tape.py."""

import types

import mindiesd
import pytest
import torch
from tape import Tape, graphed, same


def reasons(function, *args, calls=5, **options):
    """Why calls stay plain ones, after so many that gave what the function gives."""
    fast = graphed(function, **options)
    for _ in range(calls):
        fast(*args)
    assert fast.graphs == 0
    return " | ".join(fast.reasons)


class TestReasons:
    def test_a_call_that_counts_in_python(self):
        class Counter(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.step = 0

            def forward(self, x):
                self.step += 1
                return x * self.step

        fast = graphed(Counter())
        assert [float(fast(torch.ones(()))) for _ in range(6)] == [1, 2, 3, 4, 5, 6]
        assert "changes step of the module" in " ".join(fast.reasons)

    @pytest.mark.parametrize("kind", ["list", "dictionary", "object", "buffer", "tensor"])
    def test_a_call_that_keeps_something(self, kind):
        class Keeping(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.list, self.dictionary, self.object = [], {}, types.SimpleNamespace(value=None)
                self.register_buffer("buffer", torch.zeros(1))
                self.tensor = torch.zeros(1)

            def forward(self, x):
                if kind == "list":
                    self.list.append(x)
                elif kind == "dictionary":
                    self.dictionary["last"] = x + 1
                elif kind == "object":
                    self.object.value = x + 1
                else:
                    setattr(self, kind, x + 1)
                return x * 2

        moved = "weights were replaced or moved" if kind in ("buffer", "tensor") else f"the call changes {kind}"
        assert moved in reasons(Keeping(), torch.ones(1))
        if kind in ("buffer", "tensor"):  # and is looked at no more
            assert "changed 16 times without a graph" in reasons(Keeping(), torch.ones(1), calls=20)

    def test_what_the_first_call_keeps_is_no_reason(self):
        class Lazy(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.table = None

            def forward(self, x):
                if self.table is None:
                    self.table = torch.arange(3.0)
                return x + self.table

        fast = graphed(Lazy())
        for _ in range(4):
            x = torch.randn(3)
            same(fast(x), x + torch.arange(3.0))
        assert fast.graphs == 1

    def test_a_change_in_the_captured_call_is_made_once(self):
        class Late(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.log, self.calls = [], torch.zeros(())

            def forward(self, x):
                if len(ran) == 2:
                    self.log.append("third")
                ran.append(1)
                return x + 1

        ran = []
        model = Late()
        fast = graphed(model)
        for _ in range(5):
            x = torch.randn(2)
            same(fast(x), x + 1)
        assert model.log == ["third"] and len(ran) == 5 and "changes log" in " ".join(fast.reasons)

    def test_a_result_that_somebody_keeps_is_not_overwritten(self):
        ran = []

        class Late(torch.nn.Module):
            def forward(self, x):
                ran.append(1)
                if len(x) == 3 and len(ran) == 6:
                    self.kept = x + 1
                return x + 1

        fast = graphed(Late())
        for width in (2, 3):
            for _ in range(3):
                fast(torch.zeros(width))
        assert fast.graphs == 0
        kept = fast._function.kept.clone()
        for _ in range(4):
            fast(torch.randn(2))
        same(fast._function.kept, kept)

    def test_a_call_that_writes_its_argument(self):
        def function(x):
            return x.add_(1) * 2

        fast = graphed(function)
        x = torch.zeros(2)
        for number in range(1, 6):
            same(fast(x), torch.full((2,), 2.0 * number))
            assert float(x[0]) == number
        assert "writes its tensor argument 0" in " ".join(fast.reasons)

    @pytest.mark.parametrize(
        "function", [lambda parts: parts.append(1), lambda parts: parts.__setitem__(0, parts[0] + 1)]
    )
    def test_a_call_that_changes_a_list(self, function):
        fast = graphed(function)
        for _ in range(5):
            parts, expected = [torch.zeros(2)], [torch.zeros(2)]
            fast(parts)
            function(expected)
            same(parts, expected)
        assert "changes a list or dictionary among its arguments" in " ".join(fast.reasons)

    def test_a_call_that_reads_values(self):
        def function(x):
            return x * 2 if float(x.sum()) > 0 else x

        fast = graphed(function)
        for sign in (1, -1, 1, -1, 1):
            x = sign * torch.ones(2)
            same(fast(x), function(x))
        assert "no capture: RuntimeError: operation not permitted" in " ".join(fast.reasons)

    @pytest.mark.parametrize(
        "function, message",
        [
            (lambda x: x[1:], "a view of an argument"),
            (lambda x: object(), "the result holds a object"),
            (lambda x: (x + 1).to("meta"), "the result holds a Tensor on meta"),
            (lambda x: (x + 1).to_sparse(), "layout torch.sparse_coo"),
            (lambda x: iter([x]), "the result holds a list_iterator"),
            (lambda x: (x + 0j).conj(), "lazy conjugate"),
        ],
    )
    def test_results_that_no_graph_gives(self, function, message):
        assert message in reasons(function, torch.ones(3))

    def test_derivatives(self):
        model = torch.nn.Linear(3, 3)
        fast = graphed(model)
        with torch.enable_grad():
            for _ in range(5):
                assert fast(torch.ones(1, 3)).requires_grad
        assert "parameters require grad" in " ".join(fast.reasons) and fast.graphs == 0
        frozen = torch.nn.Linear(3, 3).requires_grad_(requires_grad=False)
        fast = graphed(frozen)
        with torch.enable_grad():
            for _ in range(5):
                assert fast(torch.ones(1, 3, requires_grad=True)).requires_grad
            assert "requires grad while gradients are recorded" in " ".join(fast.reasons)
            for _ in range(5):
                assert not fast(torch.ones(1, 3)).requires_grad
        assert fast.graphs == 1

    def test_weights_elsewhere(self):
        model = torch.nn.Linear(3, 3, device="meta")
        fast = graphed(model)
        with pytest.raises(RuntimeError):
            fast(torch.ones(1, 3))
        assert "a parameter or buffer is on meta" in " ".join(fast.reasons)

    def test_a_function_that_reaches_too_much(self):
        held = [types.SimpleNamespace(number=i) for i in range(3000)]
        assert "reaches more than 2000 objects" in reasons(lambda x: x + len(held), torch.ones(1))
        with pytest.raises(RuntimeError, match="give the module itself"):
            mindiesd.Instances(lambda: lambda x: x + len(held), 1, "cpu")

    def test_no_tensors(self):
        assert "neither arguments nor modules have tensors" in reasons(lambda n: torch.zeros(n), 3)

    def test_modes_and_transforms_see_the_call(self):
        fast = graphed(lambda x: x * 2)
        for _ in range(4):
            fast(torch.ones(3))
        with Tape() as tape:
            fast(torch.ones(3))
        assert torch.ops.aten.mul.Tensor in [function for function, *_ in tape.steps]
        same(torch.func.vmap(fast)(torch.ones(2, 3)), torch.full((2, 3), 2.0))

    def test_a_hook_of_all_modules_sees_the_call(self):
        fast, seen = graphed(torch.nn.Linear(3, 3)), []
        for _ in range(4):
            fast(torch.ones(1, 3))
        handle = torch.nn.modules.module.register_module_forward_hook(lambda *_: seen.append(1))
        try:
            fast(torch.ones(1, 3))
        finally:
            handle.remove()
        assert seen == [1]

    def test_without_a_device(self):
        fast = mindiesd.graphed(lambda x: x + 1)
        for _ in range(5):
            same(fast(torch.ones(2)), torch.full((2,), 2.0))
        expected = "is on cpu, not on cuda" if torch.cuda.is_available() else "there is no CUDA device"
        assert expected in " ".join(fast.reasons)
        assert sum(fast.reasons.values()) == 5

    def test_errors_are_the_functions_own(self):
        def function(x):
            raise KeyError("own")

        fast = graphed(function)
        for _ in range(5):
            with pytest.raises(KeyError, match="own"):
                fast(torch.ones(1))


@pytest.mark.parametrize("step", ["fold-batch-norm", "int8-linear", "merge-linears"])
def test_weights_loaded_into_a_prepared_model_count(step):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = torch.nn.Linear(512, 512), torch.nn.Linear(512, 512)
            self.three = torch.nn.Sequential(torch.nn.Linear(512, 4), torch.nn.BatchNorm1d(4))

        def forward(self, x):
            return self.three(self.one(x) + self.two(x))

    model, x = Model().eval().requires_grad_(False), torch.randn(2, 512)
    assert mindiesd.prepare(model, x, steps=[step]).changes
    fast = graphed(model)
    for _ in range(2):
        for _ in range(6):
            same(fast(x), model(x))
        assert fast.graphs == 1
        model.load_state_dict({k: v * 3 if v.is_floating_point() else v for k, v in model.state_dict().items()})


@pytest.mark.parametrize("value", [7.0, "text", None])
def test_another_value_in_an_attribute_counts(value):
    class Model(torch.nn.Linear):
        scale = 5.0

        def forward(self, x):
            return super().forward(x) * (3.0 if isinstance(self.scale, (str, type(None))) else self.scale)

    model, x, other = Model(3, 3).requires_grad_(False), torch.randn(2, 3), torch.randn(5, 3)
    model.scale = 2.0
    fast = graphed(model)
    for change in (lambda: setattr(model, "scale", value), lambda: delattr(model, "scale")):
        for _ in range(4):
            same(fast(x), model(x))
        assert fast.graphs == 1
        change()
        for _ in range(4):  # graphs of other signatures see it as well
            same(fast(other), model(other))
        same(fast(x), model(x))
        fast.clear()


def test_an_attribute_that_calls_set_to_what_it_was_needs_no_new_graph():
    class Model(torch.nn.Linear):
        def forward(self, x):
            self.rows = float(len(x))
            return super().forward(x)

    model = Model(3, 3).requires_grad_(False)
    fast = graphed(model)
    for _ in range(6):
        fast(torch.randn(2, 3))
    assert fast.graphs == 1 and not fast.reasons


def test_another_hook_in_the_place_of_one_counts():
    model, x = torch.nn.Linear(3, 3).requires_grad_(False), torch.randn(2, 3)
    hook = model.register_forward_hook(lambda module, args, result: result * 2)
    fast = graphed(model)
    for _ in range(4):
        same(fast(x), model(x))
    hook.remove()
    model.register_forward_hook(lambda module, args, result: result * 3)
    same(fast(x), model(x))


def test_a_forward_that_is_replaced_counts():
    model, x = torch.nn.Linear(3, 3).requires_grad_(False), torch.randn(2, 3)
    fast = graphed(model)
    for _ in range(4):
        same(fast(x), model(x))
    model.forward = lambda x: x * 7
    same(fast(x), x * 7)


def test_a_result_in_a_tensor_that_a_module_holds_is_that_tensor():
    class Table(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.zeros(3)

        def forward(self, x):
            self.table.copy_(x)
            return self.table

    model = Table()
    fast = graphed(model)
    for _ in range(5):
        x = torch.randn(3)
        result = fast(x)
        assert result is model.table
        same(result, x)
    assert fast.graphs == 1


def test_objects_of_the_user_are_not_asked_whether_they_are_stale():
    class Cache:
        def __init__(self):
            self.table = torch.ones(3)

        def stale(self, age):
            return age > 3

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cache = Cache()

        def forward(self, x):
            return x * self.cache.table

    model, x = Model(), torch.randn(3)
    fast = graphed(model)
    for _ in range(5):
        same(fast(x), model(x))
    assert fast.graphs == 1
