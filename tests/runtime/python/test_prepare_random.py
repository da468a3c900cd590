"""Random small models: prepared by example inputs, they compute other inputs as before, whatever happens meanwhile."""

import copy
import random

import pytest
import torch
from torch import nn

import mindiesd
from mindiesd.prepare.takeover import taken
from mindiesd.serving import _graphs
from tape import TapeRecorder

CHANNELS = 4


class Random(nn.Module):
    """Layers, and a program of which each line applies a layer or an operation to earlier values."""

    def __init__(self, chance):
        super().__init__()
        makers = [
            lambda: nn.Conv2d(CHANNELS, CHANNELS, 1, bias=chance.random() < 0.5),
            lambda: nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1),
            lambda: nn.ConvTranspose2d(CHANNELS, CHANNELS, 3, padding=1, groups=2),
            lambda: nn.BatchNorm2d(CHANNELS),
            lambda: nn.BatchNorm2d(CHANNELS, affine=False),
            lambda: nn.Linear(6, 6),
            nn.Dropout,
            nn.Identity,
            lambda: nn.Sequential(nn.Conv2d(CHANNELS, CHANNELS, 1), nn.BatchNorm2d(CHANNELS), nn.ReLU(inplace=True)),
            lambda: nn.Sequential(nn.Linear(6, 20), nn.Linear(20, 6), nn.Dropout()),
        ]
        self.layers = nn.ModuleList(chance.choice(makers)() for _ in range(chance.randint(1, 4)))
        self.program = []
        for _ in range(chance.randint(3, 8)):
            last, kind = len(self.program), chance.random()
            near = last if chance.random() < 0.8 else chance.randrange(last + 1)
            if kind < 0.3:  # a convolution and its norm
                self.add("layer", self.new(makers[chance.randrange(3)]), near)
                self.add("layer", self.new(makers[chance.randrange(3, 5)]), last + (chance.random() < 0.9))
            elif kind < 0.5:  # two linears of one value
                self.add("layer", self.new(makers[5]), near)
                self.add("layer", self.new(makers[5]), near + (chance.random() < 0.1))
                self.add("add", last + 1, last + 2)
            elif kind < 0.8:
                self.add("layer", chance.randrange(len(self.layers)), near)
            else:
                self.add(chance.choice(["add", "relu", "double", "detach"]), chance.randrange(last + 1), near)

    def new(self, make):
        self.layers.append(make())
        return len(self.layers) - 1

    def add(self, *line):
        self.program.append(line)

    def forward(self, x):
        values = [x.clone()]
        for kind, which, at in self.program:
            value = values[at]
            if kind == "layer":
                values.append(self.layers[which](value))
            elif kind == "add":
                values.append(value + values[which])
            elif kind == "relu":
                values.append(value.relu())
            elif kind == "double":
                values.append(value.mul_(2))
            else:
                values.append(value.detach())
            if not self.reads(at, len(values) - 1):
                values[at] = None
        return values[-1]

    def reads(self, at, line):
        """Whether this line or a later one reads the value."""
        later = self.program[line:]
        return any(at == other or (kind == "add" and at == which) for kind, which, other in later)


def agree(model, reference, x):
    for _ in range(4 if taken(model) is not None else 1):
        expected = reference(x)
        torch.testing.assert_close(model(x), expected, rtol=0, atol=1e-4 * expected.abs().max().item() + 1e-30)


@pytest.mark.parametrize("seed", range(60))
def test_a_random_model(seed, monkeypatch):
    chance = random.Random(seed)
    torch.manual_seed(seed)
    model = Random(chance).eval()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
    reference, kinds = copy.deepcopy(model), [type(module) for module in model.modules()]
    x, y = torch.randn(2, CHANNELS, 5, 6), torch.randn(3, CHANNELS, 4, 6)
    names = ["remove-dropout", "fold-batch-norm", "linear-pairs", "merge-linears", "channels-last"]
    if seed % 2:  # its calls by graphs, which tape.py has for the CPU
        monkeypatch.setattr(_graphs, "CudaRecorder", TapeRecorder)
        names.append("cuda-graphs")
    report = mindiesd.prepare(model, x, steps=names)
    assert not any("taken back" in why for why in report.why("")), str(report)
    assert report.count("cuda-graphs") == seed % 2, str(report)
    agree(model, reference, y)
    events = chance.sample(["load", "double", "copy", "gradients", "data", "train"], 3)
    for event in events:
        if event == "load":
            values = {k: v * 1.5 if v.is_floating_point() else v for k, v in reference.state_dict().items()}
            reference.load_state_dict(values)
            model.load_state_dict(values)
        elif event == "double":
            agree(copy.deepcopy(model).double(), copy.deepcopy(reference).double(), y.double())
        elif event == "copy":
            model = copy.deepcopy(model)
        elif event == "gradients":
            with torch.enable_grad():
                agree(model, reference, y)
        elif event == "data":
            for one in (model, reference):
                for p in one.parameters():
                    p.data.mul_(0.5)
                one.eval()
        else:
            for one in (model, reference):
                one.train()
                for module in one.modules():
                    if isinstance(module, nn.Dropout):  # it draws by where elements lie in memory
                        module.eval()
                one(x)
                one.eval()
        agree(model, reference, y)
        assert taken(model) is None or taken(model).graphs.graphs, taken(model).graphs.reasons
    mindiesd.restore(model)
    assert [type(module) for module in model.modules()] == kinds
    if "train" in events:  # statistics are rounded in another order where the channels are innermost
        agree(model, reference, x)
    else:
        assert torch.equal(model(x), reference(x))
