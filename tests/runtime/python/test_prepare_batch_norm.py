"""Batch norms folded into what is before them: where, and where not."""

import copy

import pytest
import torch
from torch import nn

import mindiesd

KINDS = {
    "Conv1d": (lambda **k: nn.Conv1d(4, 6, 3, **k), nn.BatchNorm1d, (2, 4, 9)),
    "Conv2d": (lambda **k: nn.Conv2d(4, 6, 3, padding=1, groups=2, **k), nn.BatchNorm2d, (2, 4, 7, 5)),
    "Conv3d": (lambda **k: nn.Conv3d(4, 6, 2, stride=2, **k), nn.BatchNorm3d, (2, 4, 6, 4, 4)),
    "ConvTranspose1d": (
        lambda **k: nn.ConvTranspose1d(4, 6, 3, stride=2, output_padding=1, **k), nn.BatchNorm1d, (2, 4, 5),
    ),
    "ConvTranspose2d": (lambda **k: nn.ConvTranspose2d(4, 6, 2, stride=2, groups=2, **k), nn.BatchNorm2d, (2, 4, 5, 3)),
    "ConvTranspose3d": (lambda **k: nn.ConvTranspose3d(4, 6, 2, dilation=2, **k), nn.BatchNorm3d, (2, 4, 3, 3, 4)),
    "Linear": (lambda **k: nn.Linear(4, 6, **k), nn.BatchNorm1d, (5, 4)),
}


def measured(model):
    """In eval mode with running statistics, scales and shifts that are none of the initial ones."""
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._NormBase) and module.running_mean is not None:
            module.running_mean.normal_()
            module.running_var.uniform_(0.3, 3)
            if module.affine:
                module.weight.normal_()
                module.bias.normal_()
    return model.eval()


class Block(nn.Module):
    """The block of a ResNet."""

    def __init__(self, channels=8):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = nn.Sequential(nn.Conv2d(channels, channels, 1), nn.BatchNorm2d(channels))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return self.relu(y + self.downsample(x))


class Two(nn.Module):
    """A convolution, what is between, and a norm."""

    def __init__(self, between=lambda y: y, after=lambda y, z: z):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6)
        self.between, self.after = between, after

    def forward(self, x):
        y = self.conv(x)
        return self.after(y, self.norm(self.between(y)))


class Straight(Two):
    def forward(self, x):
        return self.norm(self.conv(x))


def close(result, expected):
    torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_in_a_sequence(kind, bias, affine):
    make, norm, shape = KINDS[kind]
    model = measured(nn.Sequential(make(bias=bias), norm(6, affine=affine), nn.ReLU()))
    x = torch.randn(shape)
    expected, inner, keys = model(x), model[0](x), list(model.state_dict())
    report = mindiesd.prepare(model, steps=["fold-batch-norm"])
    assert [entry.text for entry in report.changes] == ["computes 0 with 1 as one"]
    assert not torch.equal(model(x), expected)
    close(model(x), expected)
    assert torch.equal(model[0](x), inner), "a module that is called by itself computes what it did"
    assert list(model.state_dict()) == keys
    report.restore()
    assert type(model) is nn.Sequential and torch.equal(model(x), expected)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", KINDS)
def test_types(kind, dtype):
    make, norm, shape = KINDS[kind]
    model = measured(nn.Sequential(make(), norm(6))).to(dtype)
    x = torch.randn(shape, dtype=dtype)
    exact = copy.deepcopy(model).double()(x.double())
    mindiesd.prepare(model, x, steps=["fold-batch-norm"])
    assert type(model) is not nn.Sequential
    assert (model(x).double() - exact).abs().max() <= 4 * torch.finfo(dtype).eps * exact.abs().max()


def test_a_block_of_a_resnet():
    model, x = measured(nn.Sequential(Block(), Block())), torch.randn(2, 8, 9, 9)
    expected, parameters = model(x), list(model.parameters())
    report = mindiesd.prepare(model, x, steps=["fold-batch-norm"])
    assert sorted(entry.where for entry in report.changes) == [
        "0.conv1", "0.conv2", "0.downsample", "1.conv1", "1.conv2", "1.downsample",
    ]  # fmt: skip
    assert 0 < report.errors["fold-batch-norm"] < 2e-5
    close(model(x), expected)
    assert all(p is q for p, q in zip(parameters, model.parameters(), strict=True))
    mindiesd.restore(model)
    assert {type(m) for m in model.modules()} == {
        nn.Sequential, Block, nn.Conv2d, nn.BatchNorm2d, nn.ReLU,
    }  # fmt: skip
    assert torch.equal(model(x), expected)


@pytest.mark.parametrize("groups", [1, 2])
def test_a_transposed_convolution_that_a_trace_finds(groups):
    class Up(nn.Module):
        def __init__(self):
            super().__init__()
            self.up = nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, groups=groups)
            self.norm = nn.BatchNorm2d(6)

        def forward(self, x, size=None):
            if size is None:
                return self.norm(self.up(x))
            return self.norm(self.up(x, size))

    model, x = measured(Up()), torch.randn(2, 4, 5, 4)
    reference = copy.deepcopy(model)
    report = mindiesd.prepare(model, x, steps=["fold-batch-norm"])
    assert [entry.where for entry in report.changes] == ["up"]
    assert not torch.equal(model(x), reference(x))
    close(model(x), reference(x))
    assert torch.equal(model(x, (10, 8)), reference(x, (10, 8))), "another caller asks for another size"
    close(copy.deepcopy(model).double()(x.double()), reference.double()(x.double()))


def test_without_examples_what_is_no_sequence_stays():
    model = measured(Block())
    report = mindiesd.prepare(model, steps=["fold-batch-norm"])
    assert [entry.where for entry in report.changes] == ["downsample"]
    assert report.why("bn1") == ["only example_inputs would show what it normalises"]


kept = []
ELSEWHERE = {
    "added": Two(after=lambda y, z: z + y),
    "returned": Two(after=lambda y, z: (z, y)),
    "kept": Two(after=lambda y, z: (kept.append(y), z)[1]),
    "a view is read": Two(after=lambda y, z: z + y.view(-1)[0]),
    "its values decide": Two(after=lambda y, z: z if y.sum() > 1e9 else -z),
    "as a list": Two(after=lambda y, z: torch.stack([z, y])),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_result_that_is_read_elsewhere_stays(name):
    model, x = measured(ELSEWHERE[name]), torch.randn(2, 4, 6, 6)
    report = mindiesd.prepare(model, x, steps=["fold-batch-norm"])
    assert not report.changes
    assert report.why("norm") == ["the result of conv is read elsewhere as well"]


def _later(self, x, feature=False):
    y = self.conv(x)
    return y if feature else self.norm(y)


def _behind(self, x, feature=False):
    y = self.conv(x)
    z = self.norm(y)
    return y if feature else z


def _closed_over(self, x, feature=False):
    y = self.conv(x)
    read = lambda: y  # noqa: E731
    y = self.norm(y)
    return read() if feature else y


def _caught(self, x, feature=False):
    y = self.conv(x)
    if feature:
        y = y + 1
    y = self.norm(y)
    return y


@pytest.mark.parametrize("forward", [_later, _behind, _closed_over, _caught], ids=lambda f: f.__name__)
def test_a_result_that_another_way_may_read_stays(forward):
    model, x = measured(type("Model", (Two,), {"forward": forward})()), torch.randn(2, 4, 6, 6)
    expected = [model(x, feature) for feature in (False, True)]
    report = mindiesd.prepare(model, x, steps=["fold-batch-norm"])
    assert report.why("norm") == ["the code may read the result of conv elsewhere, where no example goes"]
    assert all(torch.equal(model(x, feature), expected[feature]) for feature in (False, True))


def _nested(self, x):
    return torch.relu(self.norm(self.conv(x)))


def _renamed(self, x):
    x = self.conv(x)
    x = torch.relu(self.norm(x))
    return x


def _returned(self, x):
    y = self.conv(x)
    return self.norm(y)


def _if_there(self, x):
    x = self.conv(x)
    if self.norm is not None:
        x = self.norm(x)
    return x


@pytest.mark.parametrize("forward", [_nested, _renamed, _returned, _if_there], ids=lambda f: f.__name__)
def test_what_code_hands_on_is_folded(forward):
    model, x = measured(type("Model", (Two,), {"forward": forward})()), torch.randn(2, 4, 6, 6)
    expected = model(x)
    report = mindiesd.prepare(model, x, steps=["fold-batch-norm"])
    assert [entry.where for entry in report.changes] == ["conv"]
    assert not torch.equal(model(x), expected)
    close(model(x), expected)
    plain = model.conv
    model.norm = None if forward is _if_there else nn.Identity()
    model(x)
    mindiesd.restore(model)
    assert model.conv is plain


class DropPath(nn.Module):
    """Hands on what it is given, in eval mode."""

    def forward(self, x):
        return x * 0 if self.training else x


@pytest.mark.parametrize(
    "between",
    [torch.relu, torch.relu_, lambda y: y.mul_(2), lambda y: y[:1], nn.Dropout(), nn.Identity(), DropPath()],
)
def test_a_norm_of_something_else_stays(between):
    model = measured(Two(between))
    mindiesd.prepare(model)
    report = mindiesd.prepare(model, torch.randn(2, 4, 6, 6), steps=["fold-batch-norm"])
    assert not report.changes and len(report.why("norm")) == 1


def test_a_norm_of_two_convolutions_and_a_convolution_with_two_norms_stay():
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = (nn.Conv2d(4, 4, 1) for _ in range(3))
            self.shared, self.first, self.second = (nn.BatchNorm2d(4) for _ in range(3))

        def forward(self, x):
            y = self.shared(self.a(x)) + self.shared(self.b(x))
            return y + self.first(self.c(y)) + self.second(self.c(x))

    report = mindiesd.prepare(measured(Heads()), torch.randn(2, 4, 5, 5), steps=["fold-batch-norm"])
    assert not report.changes
    assert report.why("shared") == ["its input is not the result of one convolution or linear"]
    assert report.why("first") == report.why("second") == ["the result of c is read elsewhere as well"]


def test_a_convolution_that_two_norms_take_turns_on_stays():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4)

        def forward(self, x):
            y, unread = self.conv(x), self.conv(-x)
            del unread
            return self.norm(y) + self.norm(y)

    report = mindiesd.prepare(measured(Twice()), torch.randn(2, 4, 5, 5), steps=["fold-batch-norm"])
    assert not report.changes


@pytest.mark.parametrize(
    ("layers", "text"),
    [
        ([nn.Conv2d(4, 6, 1), nn.BatchNorm2d(6, track_running_stats=False)], "no running statistics"),
        ([nn.Conv2d(4, 6, 1), nn.BatchNorm2d(6).double()], "another type or device"),
        ([nn.Linear(4, 6), nn.BatchNorm2d(6)], "normalises another dimension"),
        ([nn.Conv2d(4, 6, 1), nn.BatchNorm2d(5)], "normalises 5 channels, but what is before it has 6"),
        ([nn.Conv2d(4, 6, 1), nn.SyncBatchNorm(6)], "SyncBatchNorm is a subclass"),
        ([nn.Conv2d(4, 6, 1), nn.LazyBatchNorm2d()], "LazyBatchNorm2d is a subclass"),
        ([nn.Embedding(4, 6), nn.BatchNorm1d(6)], "only example_inputs would show"),
    ],
)
def test_pairs_that_are_none(layers, text):
    report = mindiesd.prepare(nn.Sequential(*layers).eval(), steps=["fold-batch-norm"])
    assert not report.changes and text in report.why("1")[0]


def test_weights_that_a_half_type_does_not_hold_stay():
    model = measured(nn.Sequential(nn.Conv2d(4, 6, 1), nn.BatchNorm2d(6))).half()
    model[1].running_var.fill_(0)
    model[1].weight.fill_(60000)
    report = mindiesd.prepare(model, steps=["fold-batch-norm"])
    assert report.why("1") == ["the folded weights are not finite"]


@pytest.mark.parametrize("shape", [(4, 9), (1, 4, 9), (0, 4, 9)])
def test_inputs_of_other_shapes(shape):
    """An unbatched input has its channels where a batch norm does not look for them."""
    model = measured(nn.Sequential(nn.Conv1d(4, 4, 1), nn.BatchNorm1d(4)))
    model[1].num_features = 4
    reference, x = copy.deepcopy(model), torch.randn(shape)
    mindiesd.prepare(model, steps=["fold-batch-norm"])
    if shape == (4, 9):
        with pytest.raises(RuntimeError):
            reference(x)
        with pytest.raises(RuntimeError):
            model(x)
    else:
        close(model(x), reference(x))


def test_exact_leaves_norms_alone_unless_they_are_named():
    model, x = measured(Block()), torch.randn(2, 8, 9, 9)
    assert not mindiesd.prepare(model, x).changes
    report = mindiesd.prepare(model, x, steps=["fold-batch-norm"])
    assert report.count("fold-batch-norm") == 3 and report.tolerances["fold-batch-norm"] == 2e-5
    mindiesd.restore(model)
    report = mindiesd.prepare(model, x, steps=["fold-batch-norm"], tolerance=0.0)
    assert not report.changes and report.why("")[0].startswith("taken back")


def test_a_convolution_that_a_module_of_its_own_calls_stays():
    model = Two()
    model.conv = nn.Sequential(model.conv)
    x = torch.randn(2, 4, 7, 7)
    expected = measured(model).conv(x)
    report = mindiesd.prepare(model, x, steps=["fold-batch-norm"])
    assert report.why("norm") == ["no function calls conv.0 and then it"]
    assert torch.equal(model.conv(x), expected)


def test_a_convolution_of_another_module_stays():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.head = nn.Conv2d(4, 6, 3), nn.ModuleList([nn.BatchNorm2d(6)])

        def forward(self, x):
            y = self.conv(x)
            return self.head[0](y)

    model = measured(Outer())
    report = mindiesd.prepare(model, torch.randn(2, 4, 7, 7), steps=["fold-batch-norm"])
    assert report.why("head.0") == ["conv, which is before it, lies in another module"]


def test_functions_that_call_any_module_are_no_place():
    def run(module, x):
        return module(x)

    class Indirect(Two):
        def forward(self, x):
            return run(self.norm, run(self.conv, x))

    model = measured(Indirect())
    x = torch.randn(2, 4, 7, 7)
    expected = run(model.conv, x)
    mindiesd.prepare(model, x, steps=["fold-batch-norm"])
    assert torch.equal(run(model.conv, x), expected)
