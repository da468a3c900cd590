"""Convolutions with the channels innermost, and settings of the process: TF32 and cuDNN's search."""

import copy
import io
from dataclasses import dataclass

import pytest
import torch
from torch import nn

import mindiesd


def same(y):
    return y


class Encoder(nn.Module):
    """Convolutions down and up, as an autoencoder's."""

    def __init__(self, end=same):
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm, self.group = nn.BatchNorm2d(8), nn.GroupNorm(2, 8)
        self.middle = nn.Conv2d(8, 8, 3, padding=1, groups=4)
        self.up = nn.ConvTranspose2d(8, 5, 2, stride=2)
        self.end = end

    def forward(self, x):
        return self.end(self.up(self.group(self.middle(self.norm(self.down(x)).relu())).relu()))


X = torch.randn(2, 3, 8, 8)


def innermost(tensor):
    return tensor.is_contiguous(memory_format=torch.channels_last) and not tensor.is_contiguous()


def close(result, expected):
    torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-5)


def weights(model):
    return [model.down.weight, model.middle.weight, model.up.weight]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_weights_and_what_is_between_change_and_results_keep_their_strides(dtype):
    model = Encoder().eval().to(dtype)
    x = X.to(dtype)
    expected, parameters = model(x), weights(model)
    strides = [weight.stride() for weight in parameters]
    values = {key: value.clone() for key, value in model.state_dict().items()}
    between = []
    report = mindiesd.prepare(model, x, steps=["channels-last"])
    assert [entry.where for entry in report.changes] == ["down", "middle", "up", ""]
    handle = model.norm.register_forward_hook(lambda module, args, result: between.append(result))
    result = model(x)
    handle.remove()
    assert all(p is q and innermost(q) for p, q in zip(parameters, weights(model), strict=True))
    assert innermost(between[0]) and result.stride() == expected.stride()
    assert all(torch.equal(value, values[key]) for key, value in model.state_dict().items())
    tolerance = report.tolerances["channels-last"] * expected.abs().max().item()
    torch.testing.assert_close(result, expected, rtol=0, atol=tolerance)
    report.restore()
    assert [weight.stride() for weight in weights(model)] == strides and not model._forward_hooks
    assert torch.equal(model(x), expected)


def test_an_input_with_the_channels_innermost_has_results_like_it():
    model = Encoder().eval()
    x = X.contiguous(memory_format=torch.channels_last)
    expected = model(x)
    mindiesd.prepare(model, X, steps=["channels-last"])
    assert model(x).stride() == expected.stride()
    close(model(x), expected)


def test_with_norms_folded():
    model = Encoder().eval()
    model.norm.running_mean.normal_()
    expected = model(X)
    report = mindiesd.prepare(model, X, speed="close")
    assert report.count("fold-batch-norm") == 1 and report.count("channels-last") == 4
    close(model(X), expected)
    for other in (copy.deepcopy(model), _pickled(model)):
        close(other(X), expected)
        assert all(innermost(weight) for weight in weights(other))
        mindiesd.restore(other)
        assert torch.equal(other(X), expected) and not other._forward_hooks
    close(torch.compile(model, backend="eager", fullgraph=True)(X), expected)


def _pickled(model):
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def test_results_in_containers():
    model = Encoder(lambda y: {"image": y, "others": [y.mean((1, 2, 3)), (y[:1],)]}).eval()
    expected = model(X)
    mindiesd.prepare(model, X, steps=["channels-last"])
    result = model(X)
    assert result["image"].stride() == expected["image"].stride()
    assert result["others"][1][0].stride() == expected["others"][1][0].stride()
    close(result["image"], expected["image"])


@dataclass
class Output:
    image: torch.Tensor


def test_results_in_an_object_of_another_kind_are_not_reached():
    model = Encoder(Output).eval()
    expected = model(X).image
    report = mindiesd.prepare(model, X, steps=["channels-last"])
    assert not report.changes and "would have other strides" in report.why("")[0]
    assert torch.equal(model(X).image, expected) and not any(innermost(weight) for weight in weights(model))


def test_a_view_that_needs_the_usual_strides_takes_it_back():
    model = Encoder(lambda y: y.view(len(y), -1)).eval()
    expected = model(X)
    report = mindiesd.prepare(model, X, steps=["channels-last"])
    assert not report.changes and report.why("")[0].startswith("taken back: RuntimeError: view size")
    assert torch.equal(model(X), expected)


def test_a_model_without_convolutions():
    report = mindiesd.prepare(nn.Linear(3, 3).eval(), torch.randn(2, 3), steps=["channels-last"])
    assert "no two-dimensional convolution" in report.why("")[0]


def test_weights_loaded_and_moved_keep_their_layout():
    model, other = Encoder().eval(), Encoder().eval()
    mindiesd.prepare(model, X, steps=["channels-last"])
    model.load_state_dict(other.state_dict())
    assert all(innermost(weight) for weight in weights(model))
    close(model(X), other(X))
    close(model.double()(X.double()), other.double()(X.double()))
    assert all(innermost(weight) for weight in weights(model))


def test_settings_of_the_process_need_a_cuda_device():
    report = mindiesd.prepare(Encoder().eval(), steps=["tf32", "cudnn-search"])
    assert report.why("") == ["no parameter is of float32 on a CUDA device", "no convolution is on a CUDA device"]
    assert torch.get_float32_matmul_precision() == "highest" and not torch.backends.cudnn.benchmark


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device, whose TF32 is")
def test_tf32():
    model, x = nn.Linear(512, 512).eval().cuda(), torch.randn(64, 512, device="cuda")
    expected, before = model(x), torch.get_float32_matmul_precision()
    report = mindiesd.prepare(model, x, speed="fast")
    try:
        assert report.count("tf32") == 1 and 0 < report.errors["tf32"] < 5e-3
        assert torch.get_float32_matmul_precision() == "high" and "setting of the process" in report.notes[0]
    finally:
        report.restore()
    assert torch.get_float32_matmul_precision() == before and torch.equal(model(x), expected)
    report = mindiesd.prepare(model, x, steps=["tf32"], tolerance=0.0)
    assert report.why("")[0].startswith("taken back") and torch.get_float32_matmul_precision() == before


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device, whose cuDNN is")
def test_cudnn_search(monkeypatch):
    model, x = Encoder().eval().cuda(), X.cuda()
    report = mindiesd.prepare(model, x, steps=["cudnn-search"])
    try:
        assert report.count("cudnn-search") == 1 and torch.backends.cudnn.benchmark
        assert "setting of the process" in report.notes[0]
        assert mindiesd.prepare(Encoder().eval().cuda(), x, steps=["cudnn-search"]).why("") == [
            "the process has cuDNN search already"
        ]
    finally:
        report.restore()
    assert not torch.backends.cudnn.benchmark
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)
    report = mindiesd.prepare(model, x, steps=["cudnn-search"])
    assert report.why("") == ["the process wants the same algorithms each time"]


def test_a_result_that_is_there_twice_stays_one():
    model = Encoder(lambda y: {"one": y, "other": [y]}).eval()
    assert mindiesd.prepare(model, X, steps=["channels-last"]).changes
    result = model(X)
    assert result["one"] is result["other"][0] and result["one"].is_contiguous()
