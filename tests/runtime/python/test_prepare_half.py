"""``half-precision``: what is cast and what stays wide, what callers see, and what ``restore`` brings back."""

import copy
import io
import threading

import mindiesd
import pytest
import torch
from mindiesd.utils import ParametersInvalid
from torch import nn

HALVES = pytest.mark.parametrize("half", [torch.bfloat16, torch.float16], ids=str)


class Model(nn.Module):
    """A time step that must stay wide, a table of frequencies, norms, and a result in a dictionary."""

    def __init__(self, width=16):
        super().__init__()
        self.register_buffer("mean", torch.randn(width))
        self.rotary = nn.Module()
        self.rotary.register_buffer("frequencies", 1.0 / 10.0 ** torch.linspace(0, 4, width), persistent=False)
        self.embed, self.norm, self.out = nn.Linear(width, width), nn.LayerNorm(width), nn.Linear(width, width)
        self.scale = nn.Parameter(torch.randn(width))

    def forward(self, x, time, *, mask=None):
        table = (time[:, None] * self.rotary.frequencies).sin()
        y = self.norm(self.embed(x + self.mean) + table.to(self.embed.weight.dtype)) * self.scale
        if mask is not None:
            y = y + mask
        return {"sample": self.out(y), "time": time, "count": x.shape[0]}


def inputs():
    return {"x": torch.randn(3, 16), "time": torch.tensor([999.0, 1.5, 731.0])}


def prepared(model=None, examples=None, steps=("half-precision",), **options):
    torch.manual_seed(0)
    model = Model().eval() if model is None else model
    report = mindiesd.prepare(model, inputs() if examples is None else examples, steps=list(steps), **options)
    return model, report


@pytest.fixture(autouse=True)
def without_gradients():
    with torch.no_grad():
        yield


def within(result, expected, half):
    assert result.dtype == expected.dtype == torch.float32
    assert (result - expected).abs().max() <= 8 * torch.finfo(half).eps * expected.abs().max()


@HALVES
def test_parameters_are_cast_and_callers_see_no_change(half):
    plain = Model().eval()
    model, report = prepared(copy.deepcopy(plain), dtype=half)
    assert report.count("half-precision") == 1 and 0 < report.errors["half-precision"], str(report)
    assert {p.dtype for p in model.parameters()} == {half} and model.mean.dtype == half
    assert model.rotary.frequencies.dtype == torch.float32
    assert list(model.state_dict()) == list(plain.state_dict())
    for given in (inputs(), {**inputs(), "mask": torch.randn(3, 16).to(half)}):
        result, expected = model(**given), plain(**given)
        within(result["sample"], expected["sample"], half)
        assert torch.equal(result["time"], expected["time"]) and result["count"] == 3
    within(model(given["x"], given["time"])["sample"], plain(given["x"], given["time"])["sample"], half)
    parameters = list(model.parameters())
    report.restore()
    assert all(p is q for p, q in zip(parameters, model.parameters(), strict=True))
    for (key, value), other in zip(model.state_dict().items(), plain.state_dict().values(), strict=True):
        assert torch.equal(value, other) and value.dtype == torch.float32, key
    assert torch.equal(model(**given)["sample"], plain(**given)["sample"])
    assert not model._forward_hooks and not model._forward_pre_hooks and not model._forward_pre_hooks_with_kwargs


def test_no_profile_has_it_and_its_arguments_belong_to_it():
    for speed in ("exact", "close", "fast"):
        report = mindiesd.prepare(Model().eval(), inputs(), speed=speed)
        assert "half-precision" not in report.steps
    for options, text in [
        ({"steps": ["tf32"], "dtype": torch.float16}, "not among the steps"),
        ({"steps": ["tf32"], "keep": ["norm"]}, "not among the steps"),
        ({"dtype": torch.float64}, "dtype must be"),
        ({"keep": "norm"}, "keep must be a list"),
        ({"keep": [3]}, "keep must be a list"),
        ({"keep": ["nothing"]}, "none is meant by 'nothing'"),
        ({"keep": [nn.Conv2d]}, "none is meant by"),
    ]:
        with pytest.raises(ParametersInvalid, match=text):
            prepared(**options)


@pytest.mark.parametrize("keep", [["norm"], [nn.LayerNorm], ["norm", "out"], [nn.LayerNorm, "embed"]])
def test_modules_that_the_user_keeps_wide(keep):
    plain = Model().eval()
    model, report = prepared(copy.deepcopy(plain), keep=keep)
    assert report.count("half-precision") == 1, str(report)
    assert model.norm.weight.dtype == torch.float32 and "keep says" in report.why("norm")[0]
    assert model.out.weight.dtype == (torch.float32 if "out" in keep else torch.bfloat16)
    given = inputs()
    within(model(**given)["sample"], plain(**given)["sample"], torch.bfloat16)
    report.restore()
    assert torch.equal(model(**given)["sample"], plain(**given)["sample"]) and not model.norm._forward_hooks


def test_modules_that_the_model_keeps_wide():
    class Keeping(Model):
        _keep_in_fp32_modules = ["out"]

        def forward(self, x, time):
            y = self.norm(self.embed(x)) * self.scale
            return self.out(y.to(self.out.weight.dtype))

    holder = nn.Sequential(nn.Linear(16, 16))
    holder.inner = Keeping()
    holder.forward = lambda x: holder.inner(holder[0](x), None)
    model, report = prepared(holder.eval(), torch.randn(3, 16))
    assert report.count("half-precision") == 1 and "the model says" in report.why("inner.out")[0]
    assert model.inner.out.weight.dtype == torch.float32 and model.inner.norm.weight.dtype == torch.bfloat16


def test_a_model_of_transformers_keeps_what_it_names():
    transformers = pytest.importorskip("transformers")
    config = transformers.T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)
    model = transformers.T5EncoderModel(config).eval()
    plain, ids = copy.deepcopy(model), torch.randint(0, 99, (2, 7))
    _, report = prepared(model, {"input_ids": ids}, dtype=torch.float16)
    assert report.count("half-precision") == 1, str(report)
    assert {n for n, p in model.named_parameters() if p.dtype == torch.float32} == {
        n for n, _ in model.named_parameters() if ".wo." in n
    } != set()
    within(model(input_ids=ids)[0], plain(input_ids=ids)[0], torch.float16)
    report.restore()
    assert torch.equal(model(input_ids=ids)[0], plain(input_ids=ids)[0])


def test_a_decoder_with_a_cache_and_tied_weights():
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=99, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, tie_word_embeddings=True,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config).eval()
    plain, ids = copy.deepcopy(model), torch.randint(0, 99, (2, 7))
    _, report = prepared(model, {"input_ids": ids, "use_cache": True})
    assert report.count("half-precision") == 1, str(report)
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert model.model.rotary_emb.inv_freq.dtype == torch.float32
    result = model(input_ids=ids, use_cache=True)
    within(result.logits, plain(input_ids=ids).logits, torch.bfloat16)
    again = model(input_ids=ids[:, :1], past_key_values=result.past_key_values, use_cache=True)
    assert again.logits.dtype == torch.float32
    assert model.generate(ids, max_new_tokens=3, do_sample=False).shape == (2, 10)
    mindiesd.restore(model)
    assert torch.equal(model(input_ids=ids).logits, plain(input_ids=ids).logits)


def test_a_unet_keeps_its_time_step():
    diffusers = pytest.importorskip("diffusers")
    model = diffusers.UNet2DConditionModel(
        sample_size=8, block_out_channels=(32, 64), layers_per_block=1, cross_attention_dim=16, attention_head_dim=8,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    ).eval()  # fmt: skip
    example = {"sample": torch.randn(2, 4, 8, 8), "timestep": torch.tensor(999.0),
               "encoder_hidden_states": torch.randn(2, 5, 16)}  # fmt: skip
    plain = copy.deepcopy(model)
    _, report = prepared(model, example)
    assert report.count("half-precision") == 1, str(report)
    hook, = [h for h in model._forward_pre_hooks.values()]
    assert hook.chosen == {"sample", "encoder_hidden_states"}
    within(model(**example).sample, plain(**example).sample, torch.bfloat16)
    assert torch.equal(model(**{**example, "timestep": torch.tensor(998.0)}).sample,
                       model(**{**example, "timestep": 998}).sample)  # fmt: skip


def test_masks_beyond_the_half_type_stay_finite():
    class Masked(nn.Linear):
        def forward(self, x, mask):
            q = super().forward(x)
            return nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=mask)

    mask = torch.full((4, 4), torch.finfo(torch.float32).min).triu(1)
    mask[2] = torch.finfo(torch.float32).min  # a row hidden whole
    plain, x = Masked(16, 16).eval(), torch.randn(1, 2, 4, 16)
    model, report = prepared(copy.deepcopy(plain), (x, mask), dtype=torch.float16)
    assert report.count("half-precision") == 1, str(report)
    within(model(x, mask), plain(x, mask), torch.float16)
    hidden = mask.masked_fill(mask != 0, -torch.inf)
    hidden[2, 0] = 0
    assert torch.equal(model(x, hidden).isnan(), plain(x, hidden).isnan())


@HALVES
def test_steps_behind_it_work_on_half_weights(half):
    plain = nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.Dropout(), nn.ReLU()).eval()
    plain[1].running_mean.normal_(), plain[1].running_var.uniform_(0.5, 2)
    x = torch.randn(2, 3, 8, 8)
    model, report = prepared(copy.deepcopy(plain), x, ["half-precision", "fold-batch-norm", "channels-last"], dtype=half)
    assert report.count("half-precision") == report.count("fold-batch-norm") == 1, str(report)
    within(model(x), plain(x), half)
    assert model(x).stride() == plain(x).stride()
    report.restore()
    assert torch.equal(model(x), plain(x)) and [type(m) for m in model] == [type(m) for m in plain]


def test_values_loaded_meanwhile_stay():
    model, report = prepared()
    first, other = copy.deepcopy(model), Model().eval()
    mindiesd.restore(first)
    state = other.state_dict()
    model.load_state_dict({**model.state_dict(), "out.weight": state["out.weight"]})
    model.norm.weight.data.mul_(2)
    model.scale = nn.Parameter(torch.ones(16))
    report.restore()
    assert torch.equal(model.out.weight, state["out.weight"].bfloat16().float())
    assert torch.equal(model.norm.weight, first.norm.weight * 2)
    assert torch.equal(model.embed.weight, first.embed.weight) and torch.equal(model.scale, torch.ones(16))
    assert {p.dtype for p in model.parameters()} == {torch.float32}


def test_moves_to_other_types_and_back():
    plain = Model().eval()
    model, _ = prepared(copy.deepcopy(plain))
    given = inputs()
    model.float()
    within(model(**given)["sample"], plain(**given)["sample"], torch.bfloat16)
    model.half()
    within(model(**given)["sample"], plain(**given)["sample"], torch.bfloat16)
    mindiesd.restore(model)
    assert {t.dtype for t in model.state_dict().values()} == {torch.float32}
    model, _ = prepared(copy.deepcopy(plain))
    model.float()
    mindiesd.restore(model)
    assert torch.equal(model(**given)["sample"], plain(**given)["sample"])
    model, _ = prepared(copy.deepcopy(plain))
    model.double()
    mindiesd.restore(model)
    assert torch.equal(model.out.weight, plain.out.weight.double())


def test_copies_and_pickles():
    plain = Model().eval()
    model, _ = prepared(copy.deepcopy(plain), keep=["norm"])
    file, given = io.BytesIO(), inputs()
    torch.save(model, file)
    file.seek(0)
    for other in (copy.deepcopy(model), torch.load(file, weights_only=False)):
        assert torch.equal(other(**given)["sample"], model(**given)["sample"])
        other.float()
        assert other(**given)["sample"].dtype == model(**given)["sample"].dtype == torch.float32
        assert model.out.weight.dtype == torch.bfloat16
        mindiesd.restore(other)
        assert torch.equal(other(**given)["sample"], plain(**given)["sample"])


def test_training_gradients_autocast_and_compile():
    model, _ = prepared(Model().eval(), steps=["half-precision"])
    given = inputs()
    with torch.enable_grad():
        x = given["x"].requires_grad_()
        model.train()(x, given["time"])["sample"].sum().backward()
        assert x.grad.dtype == torch.float32 and model.out.weight.grad.dtype == torch.bfloat16
    expected = model.eval()(**inputs())
    with torch.autocast("cpu", torch.bfloat16):
        assert model(**inputs())["sample"].dtype == torch.float32
    given = inputs()
    expected = model(**given)["sample"]
    torch.testing.assert_close(torch.compile(model, backend="eager")(**given)["sample"], expected)
    with torch.inference_mode():
        torch.testing.assert_close(model(**given)["sample"], expected)
    found = []
    threads = [threading.Thread(target=lambda: found.append(model(**given)["sample"])) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(one.dtype == torch.float32 for one in found) and len(found) == 3


def test_gradients_are_restored_as_well():
    model, report = prepared(nn.Sequential(nn.Linear(16, 16)).eval(), torch.randn(3, 16))
    with_gradient(model)
    grad = model[0].weight.grad.clone()
    report.restore()
    assert grad.dtype == torch.bfloat16 and torch.equal(model[0].weight.grad, grad.float())


def test_models_that_are_left_alone():
    given = torch.randn(3, 16)

    def why(model, example=given):
        dtypes = [p.dtype for p in model.parameters()]
        report = prepared(model, example)[1]
        assert not report.changes and [p.dtype for p in model.parameters()] == dtypes
        assert not model._forward_hooks and not model._forward_pre_hooks
        return report.why("")[0]

    class Own(nn.Parameter):
        pass

    class Writing(nn.Linear):
        def forward(self, x):
            return super().forward(x.add_(1))

    class Wide(nn.Linear):
        def forward(self, x):
            return super().forward(x.float().exp().float())

    one = nn.Sequential(nn.Linear(16, 16)).eval()
    assert "gradient" in why(with_gradient(copy.deepcopy(one)))
    assert "has been prepared already" in why(with_dropout_removed())
    assert "Own" in why(with_parameter(copy.deepcopy(one), Own(one[0].weight.data)))
    assert "writes to its arguments" in why(Writing(16, 16).eval())
    assert "taken back: RuntimeError" in why(Wide(16, 16).eval())
    assert "no parameter is of float32" in why(copy.deepcopy(one).bfloat16(), given.bfloat16())
    assert "no parameter is of float32" in why(nn.ReLU().eval())
    assert "training mode" in why(nn.Linear(16, 16))
    shared = copy.deepcopy(one)
    shared.share_memory()
    assert "shared memory" in why(shared)
    offloaded = copy.deepcopy(one)
    offloaded[0]._hf_hook = None
    assert "0 is offloaded" in why(offloaded)
    large = nn.Sequential(nn.Linear(16, 16)).eval()
    large[0].weight.mul_(1e6)
    assert "taken back" in prepared(large, given, dtype=torch.float16)[1].why("")[0]
    assert large[0].weight.abs().max() > 7e4 and large[0].weight.dtype == torch.float32


def with_gradient(model):
    with torch.enable_grad():
        model(torch.randn(3, 16)).sum().backward()
    return model


def with_dropout_removed():
    model = nn.Sequential(nn.Linear(16, 16), nn.Dropout()).eval()
    mindiesd.prepare(model, torch.randn(3, 16))
    return model


def with_parameter(model, parameter):
    model[0].weight = parameter
    return model


def test_arguments_by_position_by_name_in_containers_and_of_any_number():
    class Many(nn.Linear):
        def forward(self, first, pair, *rest, last=None, unseen=None):
            y = sum(super(Many, self).forward(x) for x in (first, *pair["both"], *rest))
            y = y if last is None else y + super().forward(last)
            return (y if unseen is None else y * unseen.to(y.dtype)), [y.argmax(), {"y": y}]

    def x():
        return torch.randn(2, 16)

    plain = Many(16, 16).eval()
    examples = [(x(), {"both": (x(), x())}, x()), {"first": x(), "pair": {"both": (x(),)}, "last": x()}]
    model, report = prepared(copy.deepcopy(plain), examples)
    assert report.count("half-precision") == 1, str(report)
    for args, kwargs in [((x(), {"both": [x()]}, x(), x(), x()), {}), ((x(),), {"pair": {"both": ()}, "unseen": x()})]:
        (result, (most, inner)), (expected, _) = model(*args, **kwargs), plain(*args, **kwargs)
        within(result, expected, torch.bfloat16)
        assert most.dtype == torch.int64 and inner["y"].dtype == torch.float32
    with pytest.raises(RuntimeError):
        model(x().double(), {"both": ()})


def test_hooks_of_the_user_see_the_types_that_they_saw():
    model, seen = nn.Sequential(nn.Linear(16, 16)).eval(), []
    model.register_forward_pre_hook(lambda module, args: seen.append(args[0].dtype))
    model.register_forward_hook(lambda module, args, result: seen.append(result.dtype))
    report = prepared(model, torch.randn(3, 16))[1]
    assert report.count("half-precision") == 1
    seen.clear()
    model(torch.randn(3, 16))
    assert seen == [torch.float32] * 2


def test_a_result_beyond_the_tolerance_is_taken_back():
    model, report = prepared(tolerance=1e-9)
    assert "taken back: results differ" in report.why("")[0]
    assert {p.dtype for p in model.parameters()} == {torch.float32} and model.mean.dtype == torch.float32
