"""What mindiesd.Instances shares between models, and which models it refuses."""

import types

import mindiesd
import pytest
import torch
from mindiesd import serving
from mindiesd.serving._tensors import modules_of, tensors_in
from mindiesd.utils import ModelInitError
from test_serving import WAIT, Small


def instances(make, count=2, **options):
    return mindiesd.Instances(make, count, "cpu", **options)


class TestStorage:
    def test_parameters_have_one_storage(self):
        with instances(Small, 3) as made:
            addresses = {model.linear.weight.data_ptr() for model in made.models}
            assert len(addresses) == 1
            assert {"linear.weight", "linear.bias"} <= set(made.sharing.shared)
            assert made.sharing.shared_bytes == 4 * (16 + 4)

    def test_prepared_models_share_the_weights_that_they_merge(self):
        class Pair(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.one, self.two = torch.nn.Linear(8, 8), torch.nn.Linear(8, 4)

            def forward(self, x):
                return torch.cat([self.one(x), self.two(x)], -1)

        def make():
            model = Pair().eval()
            assert mindiesd.prepare(model, torch.randn(3, 8), steps=["merge-linears"]).changes
            return model

        with instances(make) as made:
            one, two = made.models
            for name, parameter in one.named_parameters():
                assert two.get_parameter(name).data_ptr() == parameter.data_ptr()
            assert all(len(model.one._mindiesd_group.places) == 2 for model in made.models)
            x = torch.randn(3, 8)
            one.load_state_dict(Pair().state_dict())
            plain = Pair().eval()
            plain.load_state_dict(one.state_dict())
            for result in made.map([x] * 4):
                torch.testing.assert_close(result, plain(x))

    def test_buffers_are_own_where_no_example_says_more(self):
        with instances(Small) as made:
            one, two = made.models
            assert one.table.data_ptr() != two.table.data_ptr() and torch.equal(one.table, two.table)
            assert made.sharing.own == {"table": "calls may write it", "calls": "calls may write it"}

    def test_buffers_that_the_example_leaves_are_shared(self):
        with instances(Small, example=torch.randn(1, 4)) as made:
            one, two = made.models
            assert one.table.data_ptr() == two.table.data_ptr()
            assert one.calls.data_ptr() != two.calls.data_ptr()
            assert made.sharing.own == {"calls": "the call on the example wrote it"}
            assert "2 tensors" not in str(made.sharing) and "calls: the call" in str(made.sharing)

    @pytest.mark.parametrize("how", ["the same value", "as data", "anew", "as a view"])
    def test_every_way_to_write_a_buffer_is_seen(self, how):
        class Writing(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("state", torch.zeros(3))

            def forward(self, x):
                if how == "the same value":
                    self.state.copy_(self.state.clone())
                elif how == "as data":
                    self.state.data.add_(x)
                elif how == "anew":
                    self.state = self.state + x
                else:
                    self.state[1:].add_(x)
                return self.state.clone()

        with instances(Writing, example=1.0) as made:
            assert list(made.sharing.own) == ["state"]

    def test_statistics_in_training_are_own(self):
        def make():
            return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))

        with instances(make, example=torch.randn(3, 4)) as made:
            assert {"1.running_mean", "1.running_var", "1.num_batches_tracked"} == set(made.sharing.own)
        with instances(lambda: make().eval(), example=torch.randn(3, 4)) as made:
            assert not made.sharing.own

    def test_tensors_in_plain_attributes_have_the_first_models_values(self):
        class Holding(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.cache = torch.randn(2, 3)
                self.row = self.cache[1]
                self.tables = {"a": [torch.randn(2)], "b": (torch.randn(1), "text")}

            def forward(self, x):
                return x

        with instances(Holding) as made:
            one, two = made.models
            assert torch.equal(one.cache, two.cache) and one.cache is not two.cache
            assert torch.equal(one.tables["a"][0], two.tables["a"][0])
            assert torch.equal(one.tables["b"][0], two.tables["b"][0])
            two.cache[1] = 7  # a view stays a view of its own model's tensor
            assert torch.equal(two.row, two.cache[1]) and not torch.equal(one.row, two.row)

    def test_recurrent_layers_compute_with_the_shared_weights(self):
        x = torch.randn(5, 2, 4)
        with instances(lambda: torch.nn.LSTM(4, 3, num_layers=2, bidirectional=True), 2) as made:
            one, two = made.models
            assert torch.equal(one(x)[0], two(x)[0])
            one.weight_hh_l0.zero_()
            assert torch.equal(one(x)[0], two(x)[0])

    def test_weight_norm_computes_with_the_shared_weights(self):
        x = torch.randn(2, 4)
        for norm in (torch.nn.utils.parametrizations.weight_norm, torch.nn.utils.parametrizations.spectral_norm):
            with instances(lambda norm=norm: norm(torch.nn.Linear(4, 3)).eval()) as made:
                assert torch.equal(made.models[0](x), made.models[1](x))

    @pytest.mark.filterwarnings("ignore")
    def test_the_old_weight_norm_computes_with_the_shared_weights(self):
        x = torch.randn(2, 4)
        with instances(lambda: torch.nn.utils.weight_norm(torch.nn.Linear(4, 3))) as made:
            assert torch.equal(made.models[0](x), made.models[1](x))

    def test_tied_weights_stay_tied(self):
        def make():
            model = torch.nn.ModuleDict({"embed": torch.nn.Embedding(5, 4), "head": torch.nn.Linear(4, 5)})
            model["head"].weight = model["embed"].weight
            return model

        with instances(make) as made:
            for model in made.models:
                assert model["head"].weight is model["embed"].weight
            assert made.sharing.shared_bytes == 4 * (20 + 5)

    @pytest.mark.filterwarnings("ignore")
    def test_torchscript_holds_its_own(self):
        x = torch.randn(2, 4)
        with instances(lambda: torch.jit.script(torch.nn.Linear(4, 3))) as made:
            assert made.sharing.shared == [] and len(made.sharing.own) == 2
            assert torch.equal(made.models[0](x), made.models[1](x))

    def test_weights_of_inference_mode(self):
        x = torch.randn(2, 4)
        with torch.inference_mode():
            made = instances(lambda: torch.nn.Linear(4, 3))
        with made, torch.inference_mode():
            assert made.models[0].weight.data_ptr() == made.models[1].weight.data_ptr()
            assert torch.equal(made.models[0](x), made.models[1](x))

    def test_modules_of_an_object_are_shared(self):
        class Pipeline:
            def __init__(self):
                self.encoder, self.decoder, self.name = torch.nn.Linear(4, 4), torch.nn.Linear(4, 2), "pipeline"

            def __call__(self, x):
                return self.decoder(self.encoder(x))

        x = torch.randn(2, 4)
        for make in (Pipeline, lambda: Pipeline().__call__, lambda: mindiesd.graphed(torch.nn.Linear(4, 2))):
            with instances(make) as made:
                assert made.sharing.shared
                assert torch.equal(made.models[0](x), made.models[1](x))

    def test_a_model_of_the_runtime(self):
        class Attending(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.norm, self.project = mindiesd.RMSNorm(32), torch.nn.Linear(32, 96)

            def forward(self, x):
                query, key, value = self.project(self.norm(x)).unflatten(-1, (3, 2, 16)).unbind(2)
                return mindiesd.attention_forward(query, key, value)

        inputs = [torch.randn(2, n, 32) for n in (3, 7, 3, 64, 7, 65) * 4]
        with instances(Attending, 4) as made:
            expected = [made.models[0](x) for x in inputs]
            for result, one in zip(made.map(inputs), expected, strict=True):
                assert torch.equal(result, one)


def alternating(*makes):
    """Builds one model after the other."""
    left = list(makes)
    return lambda: left.pop(0)()


class TestRefusals:
    @pytest.mark.parametrize(
        "first, second, message",
        [
            (lambda: torch.nn.Linear(4, 4), lambda: torch.nn.Linear(4, 3), "is float32 of shape"),
            (lambda: torch.nn.Linear(4, 4), lambda: torch.nn.Linear(4, 4).half(), "is float16 of shape"),
            (lambda: torch.nn.Linear(4, 4), lambda: torch.nn.Linear(4, 4, bias=False), "do not both have bias"),
            (lambda: torch.nn.Linear(4, 4), lambda: torch.nn.Identity(), "it gave Identity after Linear"),
            (
                lambda: torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()),
                lambda: torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU()),
                "1 is GELU, before ReLU",
            ),
            (
                lambda: torch.nn.Sequential(torch.nn.Linear(4, 4)),
                lambda: torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh()),
                "1 is Tanh, before not there",
            ),
            (lambda: torch.nn.Linear(4, 4), lambda: 3, "it gave int"),
        ],
    )
    def test_models_that_differ(self, first, second, message):
        with pytest.raises(ModelInitError, match=message):
            instances(alternating(first, second))

    @pytest.mark.parametrize("tied_first", [True, False])
    def test_weights_that_are_tied_once(self, tied_first):
        def make(tied):
            model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
            if tied:
                model[1].weight = model[0].weight
            return model

        with pytest.raises(ModelInitError, match="1.weight is tied to another tensor"):
            instances(alternating(lambda: make(tied_first), lambda: make(not tied_first)))

    def test_tensors_in_attributes_that_differ(self):
        def make(size):
            model = torch.nn.Linear(2, 2)
            model.table = torch.zeros(size)
            return model

        with pytest.raises(ModelInitError, match="table of model 2 is float32 of shape"):
            instances(alternating(lambda: make(2), lambda: make(3)))
        with pytest.raises(ModelInitError, match="do not hold the same tensors"):
            instances(alternating(lambda: make(2), lambda: torch.nn.Linear(2, 2)))

    def test_the_same_model_again(self):
        model = torch.nn.Linear(2, 2)
        with pytest.raises(ModelInitError, match="the same one again"):
            instances(lambda: model)
        with pytest.raises(ModelInitError, match="has to build every module anew"):
            instances(lambda: torch.nn.Sequential(model))
        with pytest.raises(ModelInitError, match="has to build every module anew"):
            instances(lambda: lambda x: model(x))

    def test_one_activation_in_both_models(self):
        activation = torch.nn.SiLU()
        with instances(lambda: torch.nn.Sequential(torch.nn.Linear(2, 2), activation)) as made:
            assert made.submit(torch.ones(1, 2)).result(WAIT).shape == (1, 2)

    def test_weights_that_are_not_there(self):
        with pytest.raises(ModelInitError, match="on the meta device"):
            instances(lambda: torch.nn.Linear(2, 2, device="meta"), 1)
        with pytest.raises(ModelInitError, match="not made before the first call"):
            instances(lambda: torch.nn.LazyLinear(2), 1)

    def test_weights_that_move(self):
        def make():
            model = torch.nn.Sequential(torch.nn.Linear(2, 2))
            model[0]._hf_hook = types.SimpleNamespace()  # as accelerate sets it
            return model

        with pytest.raises(ModelInitError, match="0 has a hook of accelerate"):
            instances(make, 1)

    def test_a_call_that_writes_a_parameter(self):
        class Growing(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.zeros(2))

            def forward(self, x):
                return self.weight.add_(x)

        with pytest.raises(ModelInitError, match="writes the parameter weight"):
            instances(Growing, example=1.0)


def test_tensors_are_found_in_containers_and_objects():
    one, two, three, four = (torch.zeros(1) for _ in range(4))
    held = types.SimpleNamespace(a=[one, {"b": two}], module=torch.nn.Linear(2, 2))
    held.itself = held
    found = tensors_in(held, (three, one), {four}, 3, None, "text")
    assert {id(t) for t in found} == {id(t) for t in (one, two, three, four)} and len(found) == 4


GLOBAL = torch.nn.Linear(2, 2)


def at_the_top(x):
    return GLOBAL(x)


def test_modules_are_found_in_functions():
    import functools

    module = torch.nn.Linear(2, 2)

    def closing(x):
        return module(x)

    def naming(x):
        return GLOBAL(x)

    def by_default(x, model=module, *, other=GLOBAL):
        return model(other(x))

    def calling(x):
        return (lambda: at_the_top(x))()

    assert list(modules_of(closing).values()) == [module]
    fast = mindiesd.graphed(module)
    assert modules_of(fast) == {"function": module}
    pipeline = types.SimpleNamespace(parts={"unet": [module]}, helper=types.SimpleNamespace(run=calling))
    assert set(modules_of(pipeline).values()) == {module, GLOBAL}
    assert set(modules_of(by_default).values()) == {module, GLOBAL}
    assert list(modules_of(calling).values()) == [GLOBAL]
    assert list(modules_of(naming).values()) == [GLOBAL]
    assert list(modules_of(functools.partial(closing, module)).values())[0] is module
    assert list(modules_of(module.forward).values()) == [module]
    assert modules_of(print) == {}
    assert serving.Instances is mindiesd.Instances
