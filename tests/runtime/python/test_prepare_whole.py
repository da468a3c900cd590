"""The steps that compute a model's forward as a whole, ``cuda-graphs`` (by the recorder of tape.py, on the CPU) and
``compile`` (by the backend "eager"): what calls give, what leaves a model alone, and what undoes them."""

import copy
import functools
import inspect
import io
import pickle
import threading

import mindiesd
import pytest
import torch
from mindiesd.prepare import STEPS
from mindiesd.serving import _graphs
from tape import TapeRecorder, graphed, same
from torch import nn


class Model(nn.Module):
    """Counts in a list of all how often its Python code runs."""

    ran = []

    def __init__(self):
        super().__init__()
        self.q, self.k, self.scale = nn.Linear(8, 8), nn.Linear(8, 8), 2.0
        self.tail = nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4), nn.Dropout())

    def forward(self, x, *, shift=0.0):
        """Two linears of one input."""
        self.ran.append(1)
        return self.tail(self.q(x) * self.k(x) * self.scale) + shift


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    monkeypatch.setattr(_graphs, "CudaRecorder", TapeRecorder)
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="eager"))
    torch.manual_seed(0)
    with torch.no_grad():
        yield
    torch.compiler.reset()


def prepared(*steps, model=None, x=None, **options):
    model = Model().eval() if model is None else model
    x = torch.randn(3, 8) if x is None else x
    return model, mindiesd.prepare(model, x, steps=list(steps), **options)


BOTH = pytest.mark.parametrize("step", ["cuda-graphs", "compile"])


@BOTH
def test_calls_give_what_they_gave_and_nothing_else_changes(step):
    plain = Model().eval()
    model, report = prepared(step, model=copy.deepcopy(plain))
    assert report.count(step) == 1 and report.errors[step] == 0.0, str(report)
    assert isinstance(model, Model) and type(model).__name__ == "Model" and repr(model) == repr(plain)
    assert list(model.state_dict()) == list(plain.state_dict())
    assert inspect.signature(model.forward) == inspect.signature(plain.forward)
    assert model.forward.__doc__ == plain.forward.__doc__
    for shape in [(3, 8), (1, 8), (5, 8)]:
        for _ in range(5):
            x = torch.randn(shape)
            same(model(x), plain(x))
            same(model(x, shift=2.0), plain(x, shift=2.0))
            same(model.forward(x), plain(x))
    report.restore()
    assert type(model) is Model and vars(model).keys() == vars(plain).keys()
    same(model(x), plain(x))


def test_a_graph_answers_from_the_first_call_on():
    model, report = prepared("cuda-graphs")
    assert report.graphs.graphs == 1 and not report.graphs.reasons
    Model.ran.clear()
    model(torch.randn(3, 8))
    assert not Model.ran
    for _ in range(3):
        model(torch.randn(2, 8))
    assert report.graphs.graphs == 2
    report.restore()
    assert report.graphs is None


def test_a_graph_gives_the_same_bits_in_every_profile(monkeypatch):
    class Rounding(TapeRecorder):
        def record(self, function, others):
            recording = super().record(function, others)
            plain = recording.replay
            recording.replay = lambda: (plain(), recording.result.mul_(1 + 1e-7))
            return recording

    monkeypatch.setattr(_graphs, "CudaRecorder", Rounding)
    model, report = prepared("cuda-graphs", speed="fast")
    assert "taken back: results differ" in report.why("")[0] and type(model) is Model


def test_the_cache_is_bounded():
    model, report = prepared("cuda-graphs")
    for rows in range(1, 13):
        for _ in range(3):
            model(torch.randn(rows, 8))
    assert report.graphs.graphs == 8 and report.graphs.evicted == 4


def test_no_profile_runs_them():
    for speed in ("exact", "close", "fast"):
        report = mindiesd.prepare(Model().eval(), torch.randn(3, 8), speed=speed)
        assert not {"cuda-graphs", "compile"} & set(report.steps)


@BOTH
def test_with_the_steps_before_them(step):
    plain = Model().eval()
    plain.tail[1].running_mean.normal_()
    steps = ["remove-dropout", "fold-batch-norm", "merge-linears", step]
    model, report = prepared(*steps, model=copy.deepcopy(plain))
    assert [report.count(name) > 0 for name in steps] == [True] * 4, str(report)
    for _ in range(4):
        x = torch.randn(3, 8)
        torch.testing.assert_close(model(x), plain(x), rtol=1e-5, atol=1e-5)
    state = {k: v * 1.5 if v.is_floating_point() else v for k, v in plain.state_dict().items()}
    model.load_state_dict(state), plain.load_state_dict(state)
    for _ in range(4):
        torch.testing.assert_close(model(x), plain(x), rtol=1e-5, atol=1e-5)
    mindiesd.restore(model)
    assert [type(m) for m in model.modules()] == [type(m) for m in plain.modules()]
    same(model(x), plain(x))


def test_a_sequence_whose_class_an_earlier_step_changed():
    plain = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)).eval()
    plain[1].running_mean.normal_()
    model, report = prepared("fold-batch-norm", "channels-last", "cuda-graphs", model=copy.deepcopy(plain),
                             x=torch.randn(1, 3, 8, 8))  # fmt: skip
    assert report.count("cuda-graphs") == report.count("fold-batch-norm") == 1
    x = torch.randn(1, 3, 8, 8)
    for other in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        torch.testing.assert_close(other(x), plain(x), rtol=1e-5, atol=1e-5)
        assert other(x).stride() == plain(x).stride() and len(other[:1]) == 1
        mindiesd.restore(other)
        same(other(x), plain(x))


def scaled(model):
    model.scale = 5.0


def weights_written(model):
    model.q.weight.mul_(2)


def weights_replaced(model):
    model.q.weight.data = model.q.weight.data * 3


def loaded(model):
    model.load_state_dict({k: v * 1.5 if v.is_floating_point() else v for k, v in model.state_dict().items()})


def assigned(model):
    model.load_state_dict({k: v.clone() for k, v in model.state_dict().items()}, assign=True)
    model.q.weight.mul_(2)


def exchanged(model):
    model.q = nn.Linear(8, 8).eval()


def hooked(model):
    model.k.register_forward_hook(lambda module, args, result: result * 2)


def hooked_itself(model):
    model.register_forward_hook(lambda module, args, result: result * 2)


def forward_replaced(model):
    model.k.forward = lambda x: x


def of_another_type(model):
    model.double().float()


def of_another_class(model):
    class Twice(nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)

    model.k.__class__ = Twice


CHANGES = [scaled, weights_written, weights_replaced, loaded, assigned, exchanged, hooked, hooked_itself,
           forward_replaced, of_another_type, of_another_class]  # fmt: skip


@pytest.mark.parametrize(
    "step, change",
    [("cuda-graphs", change) for change in CHANGES] + [("compile", one) for one in (scaled, loaded, exchanged, hooked)],
)
def test_changes_count_at_once(step, change):
    plain = Model().eval()
    model, report = prepared(step, model=copy.deepcopy(plain))
    for each in (model, plain):
        torch.manual_seed(1)
        change(each)
    for _ in range(5):
        x = torch.randn(3, 8)
        same(model(x), plain(x))
    assert step == "compile" or report.graphs.graphs == 1
    report.restore()
    same(model(x), plain(x))


@BOTH
def test_training_and_gradients(step):
    plain = Model().eval()
    model, _ = prepared(step, model=copy.deepcopy(plain))
    x = torch.randn(3, 8)
    with torch.enable_grad():
        for each in (model, plain):
            each(x).sum().backward()
        same(model.q.weight.grad, plain.q.weight.grad)
    for each in (model.train(), plain.train()):
        torch.manual_seed(3)
        each.seen = each(x)
    same(model.seen, plain.seen)
    del model.seen, plain.seen
    same(model.state_dict()["tail.1.running_mean"], plain.state_dict()["tail.1.running_mean"])
    for _ in range(4):
        same(model.eval()(x), plain.eval()(x))


@BOTH
def test_copies_and_pickles_compute_by_their_own_weights(step):
    model, _ = prepared(step)
    x, file = torch.randn(3, 8), io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    copies = [copy.deepcopy(model), torch.load(file, weights_only=False), pickle.loads(pickle.dumps(model, 2))]
    first = model(x)
    for other in copies:
        for _ in range(4):
            same(other(x), first)
        other.q.weight.mul_(3)
        assert not torch.equal(other(x), first)
        same(model(x), first)
        assert other._mindiesd_forward.module is other
        mindiesd.restore(other)
        assert type(other) is Model and "_mindiesd_forward" not in vars(other)


@BOTH
def test_a_copy_that_shares_attributes_computes_by_itself(step):
    model, _ = prepared(step)
    replica = model._replicate_for_data_parallel()
    replica.scale = 0.0
    x = torch.randn(3, 8)
    assert replica(x).eq(replica.tail(torch.zeros(3, 8))).all() and not model(x).eq(replica(x)).all()


@BOTH
def test_tracers_see_the_model(step):
    plain = Model().eval()
    model, _ = prepared(step, model=copy.deepcopy(plain))
    x = torch.randn(3, 8)
    same(torch.jit.trace(model, x)(x), plain(x))
    same(torch.export.export(model, (x,)).module()(x), plain(x))
    same(torch.compile(model)(x), plain(x))
    same(torch.func.vmap(model.q)(x), plain.q(x))
    with torch.autocast("cpu", torch.bfloat16):
        for _ in range(4):
            same(model(x), plain(x))
    with torch.inference_mode():
        for _ in range(4):
            same(model(x), plain(x))


@BOTH
def test_symbolic_traces_see_the_model(step):
    plain, x = nn.Sequential(nn.Linear(8, 8), nn.ReLU()), torch.randn(3, 8)
    traced = torch.fx.symbolic_trace(prepared(step, model=copy.deepcopy(plain).eval())[0])
    assert any(node.target == "0" for node in traced.graph.nodes)
    same(traced(x), plain(x))


@BOTH
def test_threads(step):
    plain = Model().eval()
    model, _ = prepared(step, model=copy.deepcopy(plain))
    inputs = [torch.randn(3, 8) for _ in range(12)]
    expected, found = [plain(x) for x in inputs], [None] * 12

    def work(start):
        with torch.no_grad():
            for at in range(start, 12, 3):
                found[at] = model(inputs[at])

    threads = [threading.Thread(target=work, args=(start,)) for start in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for pair in zip(found, expected, strict=True):
        same(*pair)


@BOTH
def test_only_one_takes_the_forward(step):
    model, report = prepared("compile", "cuda-graphs")
    assert report.count("compile") == 1 and "another step computes" in report.why("")[0]
    model, report = prepared(step)
    _, again = prepared(step, model=model)
    assert not again.changes and "another step computes" in again.why("")[0]
    assert not prepared("merge-linears", model=model)[1].why("")
    report.restore()
    assert type(model.q) is nn.Linear


@BOTH
def test_models_that_are_left_alone(step):
    replaced = Model().eval()
    replaced.forward = functools.partial(Model.forward, replaced)
    assert "forward is replaced" in prepared(step, model=replaced)[1].why("")[0]
    compiled = Model().eval()
    compiled.compile(backend="eager")
    assert "compiled already" in prepared(step, model=compiled)[1].why("")[0]
    of_fx = torch.fx.symbolic_trace(Model().eval())
    assert "way of its own to be copied" in prepared(step, model=of_fx.eval())[1].why("")[0]
    assert "give example_inputs" in mindiesd.prepare(Model().eval(), steps=[step]).why("")[0]
    training = Model()
    assert "training mode" in prepared(step, model=training)[1].why("")[0]
    meta = Model().to("meta").eval()
    assert not prepared(step, model=meta, x=torch.randn(3, 8, device="meta"))[1].changes


def test_models_of_which_no_graph_is_made():
    adapted = Model().eval()
    adapted.k.lora_A = nn.Linear(8, 8).eval()
    assert "k is an adapter" in prepared("cuda-graphs", model=adapted)[1].why("")[0]

    class Part(nn.Parameter):
        pass

    sharded = Model().eval()
    sharded.q.weight = Part(sharded.q.weight.data)
    assert "q.weight may be sharded" in prepared("cuda-graphs", model=sharded)[1].why("")[0]

    class Deciding(nn.Linear):
        def forward(self, x):
            return super().forward(x) if x.sum() > 0 else x

    model = Deciding(8, 8).eval()
    _, report = prepared("cuda-graphs", model=model)
    assert "no call of the examples becomes a graph" in report.why("")[0] and type(model) is Deciding


def test_without_a_device_the_model_stays(monkeypatch):
    monkeypatch.undo()
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    model, report = prepared("cuda-graphs")
    assert "there is no CUDA device" in report.why("")[0] and type(model) is Model


def test_a_model_that_counts_calls_stays():
    class Counter(nn.Linear):
        calls = 0

        def forward(self, x):
            self.calls += 1
            return super().forward(x)

    model, report = prepared("cuda-graphs", model=Counter(8, 8).eval())
    assert not report.changes and type(model) is Counter


def test_some_examples_by_graphs_and_some_not():
    class Sometimes(nn.Linear):
        def forward(self, x):
            return super().forward(x) + (x.sum().item() if len(x) == 1 else 0)

    model = Sometimes(8, 8).eval()
    _, report = prepared("cuda-graphs", model=model, x=[torch.randn(3, 8), torch.randn(1, 8)])
    assert report.count("cuda-graphs") == 1 and "made without a graph" in report.notes[0]
    x = torch.randn(1, 8)
    same(model(x), Sometimes.forward(model, x))


def test_compile_says_how_long_the_first_calls_took_and_takes_breaks():
    class Breaking(nn.Linear):
        def forward(self, x):
            y = super().forward(x)
            torch._dynamo.graph_break()
            return y * 2

    plain = Breaking(8, 8).eval()
    model, report = prepared("compile", model=copy.deepcopy(plain))
    assert report.count("compile") == 1 and "first calls of the examples took" in report.notes[0]
    x = torch.randn(3, 8)
    same(model(x), plain(x))


def test_a_compiler_that_fails_or_is_wrong_is_taken_back(monkeypatch):
    def unsupported(function):
        raise RuntimeError("this Python is too new")

    failing, wrong = lambda f: lambda *args: 1 / 0, lambda f: lambda model, x: f(model, x) + 1
    for compiler, text in ((unsupported, "too new"), (failing, "ZeroDivisionError"), (wrong, "results differ")):
        monkeypatch.setattr(torch, "compile", compiler)
        model, report = prepared("compile")
        assert text in report.why("")[0] and type(model) is Model and "_mindiesd_forward" not in vars(model)


def test_restore_says_that_the_class_is_another():
    model, report = prepared("cuda-graphs")
    model.__class__ = Model
    with pytest.raises(mindiesd.utils.ParametersInvalid, match="take that change back first"):
        report.restore()


@pytest.mark.parametrize("step", ["fold-batch-norm", "int8-linear", "merge-linears"])
def test_a_graph_of_a_pickled_model_whose_weights_are_made_anew(step):
    model = nn.Sequential(nn.Linear(512, 512), nn.BatchNorm1d(512)).eval()
    if step == "merge-linears":
        model = Model().eval()
    width = 8 if step == "merge-linears" else 512
    model, report = prepared(step, model=model, x=torch.randn(3, width))
    assert report.changes
    other = pickle.loads(pickle.dumps(model))
    fast, x = graphed(other, warmup=1), torch.randn(3, width)
    for _ in range(3):
        same(fast(x), model(x))
    assert fast.graphs == 1 and not any("changes" in reason for reason in fast.reasons)


def test_half_precision_int8_weights_and_graphs_together():
    class Decoding(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.drop = nn.Linear(512, 512), nn.Linear(512, 512), nn.Dropout()

        def forward(self, x):
            return self.drop(self.q(x) * self.k(x))

    plain, x = Decoding().eval(), torch.randn(1, 2, 512)
    steps = ["half-precision", "remove-dropout", "int8-linear", "merge-linears", "cuda-graphs"]
    model, report = prepared(*steps, model=copy.deepcopy(plain), x=x)
    assert [report.count(name) for name in steps] == [1, 1, 2, 1, 1] and report.graphs.graphs == 1, str(report)
    for factor in (1, -2):
        state = {key: value * factor for key, value in plain.state_dict().items()}
        model.load_state_dict(state)
        expected = Decoding().eval()
        expected.load_state_dict(state)
        for _ in range(4):
            x = torch.randn(1, 2, 512)
            assert (model(x) - expected(x)).abs().max() < 0.06 * expected(x).abs().max()
        assert report.graphs.graphs == 1
    model.load_state_dict(plain.state_dict())
    report.restore()
    same(model(x), plain(x))
    assert not model._forward_hooks and type(model.q) is nn.Linear and model.q.weight.untyped_storage().nbytes() == 2**20


def test_weights_of_a_module_that_calls_do_not_use_are_no_reason_against_graphs():
    class Partly(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.other = (nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)) for _ in range(2))

        def forward(self, x, other=False):
            return self.other(self.used(x)) if other else self.used(x)

    plain = Partly().eval()
    model, report = prepared("fold-batch-norm", "cuda-graphs", model=copy.deepcopy(plain))
    assert report.count("fold-batch-norm") == 2
    x = torch.randn(3, 8)
    for factor in (2.0, 0.5, -1.0):
        for each in (model, plain):
            for name, value in each.state_dict().items():
                if value.is_floating_point() and not name.endswith("running_var"):
                    value.mul_(factor)
        for _ in range(5):
            torch.testing.assert_close(model(x), plain(x), rtol=1e-5, atol=1e-5)
        assert report.graphs.graphs == 1
        for _ in range(5):
            torch.testing.assert_close(model(x, other=True), plain(x, other=True), rtol=1e-5, atol=1e-5)
            torch.testing.assert_close(model(x), plain(x), rtol=1e-5, atol=1e-5)
        assert report.graphs.graphs == 2


def test_steps_are_the_last():
    assert list(STEPS)[-2:] == ["compile", "cuda-graphs"]
