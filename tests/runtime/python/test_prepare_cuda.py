"""Prepared models on a CUDA device: moves, streams and graphs."""

import copy

import pytest
import torch
from torch import nn

import mindiesd

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")


class Model(nn.Module):
    """A convolution with its norm, and three linears of one input."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32)
        self.q, self.k, self.v = nn.Linear(32, 32), nn.Linear(32, 16), nn.Linear(32, 16)

    def forward(self, x):
        y = self.norm(self.conv(x)).relu().flatten(2).transpose(1, 2)
        q, k, v = self.q(y), self.k(y), self.v(y)
        return q[..., :16] * k + v


@pytest.fixture(autouse=True)
def _without_tf32(monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)


def made():
    model = Model().eval()
    model.norm.running_mean.normal_()
    model.norm.running_var.uniform_(0.5, 2)
    return model, torch.randn(2, 3, 16, 16)


def close(result, expected):
    torch.testing.assert_close(result.cpu(), expected.cpu(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_all_steps_of_the_profile(dtype):
    model, x = made()
    model, x = model.to("cuda", dtype), x.to("cuda", dtype)
    expected = model(x)
    report = mindiesd.prepare(model, x, speed="close")
    assert [report.count(step) for step in ("fold-batch-norm", "merge-linears", "channels-last")] == [1, 1, 1]
    difference = (model(x) - expected).abs().max() / expected.abs().max()
    assert difference <= 3 * max(report.tolerances.values())
    report.restore()
    torch.testing.assert_close(model(x), expected, rtol=1e-3, atol=1e-3)


def test_a_model_that_moves_to_the_device_and_back():
    model, x = made()
    reference = copy.deepcopy(model)
    mindiesd.prepare(model, x, steps=["fold-batch-norm", "merge-linears"])
    close(model.cuda()(x.cuda()), reference(x))
    assert model.q._mindiesd_group.weight.is_cuda and model.q._mindiesd_group.places
    assert model.conv._mindiesd_pair.folded[2][0].is_cuda
    close(model.cpu()(x), reference(x))
    assert model.q._mindiesd_group.places


def test_a_result_is_taken_on_the_stream_that_computed_it_only():
    model, _ = made()
    model.cuda()
    reference, y = copy.deepcopy(model), torch.randn(2, 9, 32, device="cuda")
    mindiesd.prepare(model, torch.randn(2, 3, 16, 16, device="cuda"), speed="close")
    first = model.q(y)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        other = model.k(y)
    torch.cuda.current_stream().wait_stream(stream)
    close(first, reference.q(y))
    close(other, reference.k(y))
    assert other.is_contiguous(), "it is no slice of a result of the other stream"


def test_a_prepared_model_in_a_graph():
    model, x = made()
    model, x = model.cuda(), x.cuda()
    mindiesd.prepare(model, x, speed="close")
    expected = model(x)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        model(x)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = model(x)
    graph.replay()
    close(result, expected)


class Decoding(nn.Module):
    """Linears of one input that are wide enough for int8 weights."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.o = nn.Linear(512, 512), nn.Linear(512, 512), nn.Linear(512, 512)

    def forward(self, x):
        return self.o(self.q(x) * self.k(x))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@torch.no_grad()
def test_few_rows_by_one_int8_weight(dtype):
    model = Decoding().eval().to("cuda", dtype)
    plain, x = copy.deepcopy(model), torch.randn(1, 3, 512, device="cuda", dtype=dtype)
    apart = copy.deepcopy(model)
    mindiesd.prepare(apart, x, steps=["int8-linear"])
    report = mindiesd.prepare(model, x, speed="fast")
    assert report.count("int8-linear") == 3 and report.count("merge-linears") == 1, str(report)
    for rows in (1, 7, 16):
        few = torch.randn(1, rows, 512, device="cuda", dtype=dtype)
        torch.testing.assert_close(model(few), apart(few), rtol=0, atol=8 * 2.0**-8 * apart(few).abs().max().item())
        assert (model(few) - plain(few)).abs().max() <= 0.05 * plain(few).abs().max()
    state = {key: value * -2 for key, value in plain.state_dict().items()}
    model.load_state_dict(state)
    apart.load_state_dict(state)
    torch.testing.assert_close(model(few), apart(few), rtol=0, atol=8 * 2.0**-8 * apart(few).abs().max().item())
    report.restore()
    plain.load_state_dict(state)
    assert torch.equal(model(few), plain(few))


@pytest.mark.parametrize("steps", [[], ["fold-batch-norm", "merge-linears", "channels-last"]])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@torch.no_grad()
def test_calls_by_graphs(dtype, steps):
    model, x = made()
    model, x = model.to("cuda", dtype), x.to("cuda", dtype)
    mindiesd.prepare(model, x, steps=steps)
    plain = copy.deepcopy(model)
    report = mindiesd.prepare(model, x, steps=["cuda-graphs"])
    assert report.errors["cuda-graphs"] == 0.0 and report.graphs.graphs == 1, str(report)
    for shape in [(2, 3, 16, 16), (1, 3, 8, 8)]:
        for _ in range(4):
            x = torch.randn(shape, device="cuda", dtype=dtype)
            result = model(x)
            assert torch.equal(result, plain(x)) and result.stride() == plain(x).stride()
    assert report.graphs.graphs == 2
    for each in (model, plain):
        each.q.weight.mul_(2)
        each.norm.running_mean.add_(1)
    for other in (model, copy.deepcopy(model)):
        for _ in range(4):
            torch.testing.assert_close(other(x), plain(x), rtol=1e-2, atol=1e-2)
    assert type(model.cpu()(x.cpu())) is torch.Tensor
    torch.testing.assert_close(model.cuda()(x), plain(x), rtol=1e-2, atol=1e-2)
    mindiesd.restore(model)
    assert type(model) is Model


@torch.no_grad()
def test_a_graph_of_a_dropout_in_training_draws_as_it_did():
    model = nn.Sequential(nn.Linear(64, 64), nn.Dropout(0.5)).cuda().eval()
    x = torch.randn(4, 64, device="cuda")
    report = mindiesd.prepare(model, x, steps=["cuda-graphs"])
    assert report.count("cuda-graphs") == 1
    model.train()
    assert model(x).eq(0).any() and not torch.equal(model(x), model(x))
    assert not model.eval()(x).eq(0).any()


@pytest.mark.parametrize("keep", [[], [nn.BatchNorm2d], ["q"]])
@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
@torch.no_grad()
def test_half_precision(half, keep):
    model, x = made()
    model, x = model.cuda(), x.cuda()
    plain = copy.deepcopy(model)
    steps = ["half-precision", "fold-batch-norm", "merge-linears", "channels-last", "cuda-graphs"]
    report = mindiesd.prepare(model, x, steps=steps, dtype=half, keep=keep)
    assert report.count("half-precision") == report.count("cuda-graphs") == 1, str(report)
    assert report.count("fold-batch-norm") == (nn.BatchNorm2d not in keep)
    for _ in range(4):
        x = torch.randn(2, 3, 16, 16, device="cuda")
        result, expected = model(x), plain(x)
        assert result.dtype == torch.float32 and result.stride() == expected.stride()
        assert (result - expected).abs().max() <= 16 * torch.finfo(half).eps * expected.abs().max()
    report.restore()
    assert torch.equal(model(x), plain(x)) and type(model) is Model
