"""What a preparation leaves alone, and says: modules whose parameters or calls are not just their own."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, weight_norm

import mindiesd


def sequence():
    model = nn.Sequential(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4), nn.Dropout()).eval()
    model[1].running_mean.normal_()
    return model


class Scaled(nn.Conv2d):
    def forward(self, x):
        return 2 * super().forward(x)


class Gated(nn.Dropout):
    def forward(self, x):
        return x.relu()


class Marked(torch.Tensor):
    """A tensor of a library's own."""


def of_subclasses():
    return nn.Sequential(Scaled(4, 4, 1), nn.BatchNorm2d(4), Gated()).eval(), "0", "Scaled is a subclass"


def with_a_hook():
    model = sequence()
    model[0].register_forward_hook(lambda *call: None)
    return model, "0", "it has hooks"


def with_a_hook_before():
    model = sequence()
    model[1].register_forward_pre_hook(lambda *call: None)
    return model, "1", "it has hooks"


def with_another_forward():
    model = sequence()
    forward = model[0].forward
    model[0].forward = lambda x: forward(x) + 1
    return model, "0", "its forward is replaced"


def offloaded():
    """As accelerate leaves a module whose weights lie elsewhere: a hook object, another forward, weights on meta."""
    model = sequence()
    weight, bias = (p.detach().clone() for p in model[0].parameters())
    model[0]._hf_hook = object()
    model[0].to("meta")
    model[0].forward = lambda x: nn.functional.conv2d(x, weight, bias)
    return model, "0", "its forward is replaced, as offloading does"


def on_meta():
    model = sequence()
    model[0].to("meta")
    return model, "0", "its weight is on the meta device"


def parametrised():
    model = sequence()
    parametrizations.weight_norm(model[0])
    model.eval()
    return model, "0", "its parameters are parametrised"


def normed_by_hooks():
    model = sequence()
    weight_norm(model[0])
    return model, "0", "it has hooks"


def tied():
    model = nn.Sequential(sequence(), sequence()).eval()
    model[1][0].weight = model[0][0].weight
    return model, "1.0", "its weight is tied to 0.0.weight"


def overlapping():
    model = nn.Sequential(sequence(), nn.Conv2d(4, 4, 1)).eval()
    model[1].weight = nn.Parameter(model[0][0].weight.detach().transpose(0, 1))
    return model, "0.0", "its weight shares memory with 1.weight"


def shared():
    model = sequence()
    model.append(model[0])
    return model, "0", "the module is shared: it is also 3"


def sharded():
    model = sequence()
    model[0].weight = nn.Parameter(model[0].weight.detach().as_subclass(Marked))
    return model, "0", "which may be sharded, quantised or not there yet"


def lazy():
    return nn.Sequential(nn.LazyConv2d(4, 1), nn.BatchNorm2d(4)).eval(), "0", "LazyConv2d is a subclass"


def made_for_inference():
    with torch.inference_mode():
        return sequence(), "1", "was made under inference_mode"


def sparse():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).eval()
    model[0].weight = nn.Parameter(model[0].weight.detach().to_sparse())
    return model, "0", "its weight is sparse"


def adapted():
    class Adapter(nn.Module):
        def __init__(self):
            super().__init__()
            self.base_layer, self.lora_A = sequence(), nn.Conv2d(4, 4, 1)

        def forward(self, x):
            return self.base_layer(x) + self.lora_A(x)

    return nn.Sequential(Adapter()).eval(), "0.base_layer.1", "it is part of an adapter, 0"


def flat():
    """As a sharding of parameters leaves a module: its weight is a view of something else."""
    model = sequence()
    weight = model[0].weight.detach()
    del model[0].weight
    model[0].weight = weight
    return model, "0", "its weight is no parameter of its own"


def compiled():
    model = nn.Sequential(torch.compile(sequence(), backend="eager")).eval()
    return model, "0._orig_mod.1", "it is part of a compiled module, 0"


CASES = [
    of_subclasses, with_a_hook, with_a_hook_before, with_another_forward, offloaded, on_meta, parametrised,
    normed_by_hooks, tied, overlapping, shared, sharded, lazy, made_for_inference, sparse, adapted, flat, compiled,
]  # fmt: skip


# torch itself cannot compute these, or a call makes them ordinary modules.
NOT_CALLED = [lazy, on_meta, sparse]


@pytest.mark.parametrize(
    ("case", "watched"), [(case, False) for case in CASES] + [(case, True) for case in CASES if case not in NOT_CALLED]
)
def test_left_alone(case, watched):
    model, name, text = case()
    kinds = [type(module) for module in model.modules()]
    state = {
        key: value.stride()
        for key, value in model.state_dict(keep_vars=True).items()
        if type(value) in (nn.Parameter, torch.Tensor) and value.layout == torch.strided
    }
    x = torch.randn(2, 4, 5, 5)
    expected = model(x) if watched else None
    report = mindiesd.prepare(model, x if watched else None, speed="fast")
    found = [entry.text for entry in report.left if entry.where == name]
    assert any(text in one for one in found), str(report)
    assert not [entry for entry in report.changes if entry.where == name]
    if watched:
        torch.testing.assert_close(model(x), expected)
    mindiesd.restore(model)
    assert [type(module) for module in model.modules()] == kinds or case is lazy
    for key, value in model.state_dict(keep_vars=True).items():
        assert key not in state or value.stride() == state[key]


def test_parameters_beside_each_other_in_one_buffer_are_their_own():
    """As views of one file in memory are."""
    model = sequence()
    whole = torch.randn(16 + 4)
    model[0].weight, model[0].bias = nn.Parameter(whole[:16].view(4, 4, 1, 1)), nn.Parameter(whole[16:])
    report = mindiesd.prepare(model, steps=["fold-batch-norm"])
    assert report.count("fold-batch-norm") == 1
    mindiesd.restore(model)
    model[0].weight, model[0].bias = nn.Parameter(whole[:16].view(4, 4, 1, 1)), nn.Parameter(whole[15:19])
    report = mindiesd.prepare(model, steps=["fold-batch-norm"])
    assert report.why("0") == ["its weight shares memory with 0.bias"]


def test_a_hook_on_every_module_sees_what_it_saw():
    model, x = sequence(), torch.randn(2, 4, 5, 5)
    expected = [model[0](x), model(x)]
    mindiesd.prepare(model, x, speed="close")
    seen = []
    handle = nn.modules.module.register_module_forward_hook(lambda module, args, result: seen.append(result))
    try:
        model(x)
    finally:
        handle.remove()
    assert len(seen) == 4
    assert torch.equal(seen[0], expected[0]) and torch.equal(seen[-1], expected[1])


def test_quantised_modules():
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout()).eval()
    model = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}).eval()
    x = torch.randn(2, 8)
    expected = model(x)
    report = mindiesd.prepare(model, x, speed="fast")
    assert [entry.where for entry in report.changes] == ["1"] and torch.equal(model(x), expected)


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch has no torch.distributed")
def test_a_sharded_model(tmp_path):
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh

    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        mesh = init_device_mesh("cpu", (1,))
        model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)).eval()
        for name, placement in (("weight", Shard(0)), ("bias", Replicate())):
            given = distribute_tensor(getattr(model[0], name).detach(), mesh, [placement])
            setattr(model[0], name, nn.Parameter(given))
        report = mindiesd.prepare(model, speed="fast")
        assert not report.changes and "is a DTensor, which may be sharded" in report.why("0")[0]
    finally:
        torch.distributed.destroy_process_group()


def test_weights_in_shared_memory_stay_there():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)).eval()
    model.share_memory()
    report = mindiesd.prepare(model, torch.randn(1, 3, 8, 8), speed="close")
    assert not report.changes and all(p.is_shared() for p in model.parameters())
    assert "in shared memory" in " ".join(report.why("0") + report.why("1"))
