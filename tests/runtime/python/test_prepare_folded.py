"""Models with folded batch norms: training, new weights, moves, copies, hooks, compilers and other callers."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn
from torch.func import functional_call, vmap

import mindiesd
from mindiesd.utils import ModelExecError
from test_prepare_batch_norm import Block, Straight, close, measured


def prepared():
    """A prepared block, the block as it was, and an input."""
    model = measured(Block())
    reference, x = copy.deepcopy(model), torch.randn(2, 8, 9, 9)
    report = mindiesd.prepare(model, x, steps=["fold-batch-norm"])
    assert report.count("fold-batch-norm") == 3
    return model, reference, x


def test_training_updates_statistics_and_the_fold_follows():
    model, reference, x = prepared()
    for one in (model, reference):
        one.train()
    torch.testing.assert_close(model(x), reference(x), rtol=0, atol=0)
    for one in (model, reference):
        one.eval()
    for (key, value), other in zip(model.state_dict().items(), reference.state_dict().values(), strict=True):
        assert torch.equal(value, other), key
    close(model(x), reference(x))


def test_gradients_reach_the_weights():
    model, reference, x = prepared()
    with torch.enable_grad():
        for one in (model, reference):
            one(x).square().sum().backward()
    for p, q in zip(model.parameters(), reference.parameters(), strict=True):
        assert torch.equal(p.grad, q.grad)


def test_gradients_of_the_input_alone():
    model, reference, x = prepared()
    gradients = []
    for one in (model, reference):
        one.requires_grad_(False)
        with torch.enable_grad():
            given = x.clone().requires_grad_()
            one(given).square().sum().backward()
        gradients.append(given.grad)
    assert not torch.equal(*gradients)
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("how", ["copy", "assign", "inference", "in place", "optimizer"])
def test_new_weights_count(how):
    model, reference, x = prepared()
    model(x)
    values = {
        key: torch.rand_like(value) + 0.1 if value.is_floating_point() else value
        for key, value in model.state_dict().items()
    }
    if how == "optimizer":
        for one in (model, reference):
            for p in one.parameters():
                p.grad = torch.ones_like(p)
            torch.optim.SGD(one.parameters(), lr=0.1).step()
    elif how == "in place":
        for one in (model, reference):
            one.bn1.running_var.mul_(3)
            one.conv2.weight.neg_()
    elif how == "inference":
        with torch.inference_mode():
            model.load_state_dict(values)
            reference.load_state_dict(values)
            close(model(x), reference(x))
    else:
        model.load_state_dict(values, assign=how == "assign")
        reference.load_state_dict(values)
    expected = reference(x)
    assert not torch.equal(model(x), expected), "the fold is used"
    torch.testing.assert_close(model(x) / expected.abs().max(), expected / expected.abs().max())
    mindiesd.restore(model)
    assert torch.equal(model(x), expected)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_a_move_to_another_type(dtype):
    model, reference, x = prepared()
    model(x)
    model.to(dtype)
    reference.to(dtype)
    result, expected = model(x.to(dtype)), reference(x.to(dtype))
    assert result.dtype == dtype and not torch.equal(result, expected)
    tolerance = 8 * torch.finfo(dtype).eps * expected.abs().max()
    torch.testing.assert_close(result, expected, rtol=0, atol=tolerance.item())
    model.float()
    close(model(x), reference.float()(x))


def test_copies_and_pickles():
    model, reference, x = prepared()
    expected = model(x)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    for other in (copy.deepcopy(model), torch.load(file, weights_only=False)):
        assert torch.equal(other(x), expected)
        other.bn1.running_mean.add_(1)
        assert torch.equal(model(x), expected) and not torch.equal(other(x), expected)
        other.bn1.running_mean.copy_(reference.bn1.running_mean)
        mindiesd.restore(other)
        assert torch.equal(other(x), reference(x))


def test_a_hook_sees_what_it_saw():
    model, reference, x = prepared()
    seen = []
    for one in (model, reference):
        one.conv1.register_forward_hook(lambda module, args, result: seen.append(result))
        one.downsample[0].register_forward_hook(lambda module, args, result: seen.append(result))
        one(x)
    assert torch.equal(seen[0], seen[2]) and torch.equal(seen[1], seen[3])


def test_autocast_computes_both():
    model, reference, x = prepared()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(model(x), reference(x))


def test_functional_calls():
    model, reference, x = prepared()
    values = {key: value * 1.5 for key, value in reference.state_dict().items() if value.is_floating_point()}
    close(functional_call(model, values, x), functional_call(reference, values, x))
    close(model(x), reference(x))
    stacked = {key: torch.stack([value, value * 2]) for key, value in values.items()}
    results = [vmap(lambda v, one=one: functional_call(one, v, x))(stacked) for one in (model, reference)]
    assert torch.equal(*results)
    close(model(x), reference(x))


@pytest.mark.parametrize("what", ["the model", "the norm", "all but the convolution"])
def test_compiled(what):
    model, reference, x = prepared()
    if what == "the model":
        compiled = torch.compile(model, backend="eager", fullgraph=True)
    elif what == "the norm":
        model.bn1.compile(backend="eager")
        compiled = model
    else:
        model.conv1.forward = torch.compiler.disable(model.conv1.forward)
        compiled = torch.compile(model, backend="eager")
    close(compiled(x), reference(x))
    close(compiled(x), reference(x))


def test_another_caller_gets_what_the_convolution_gives():
    model, reference, x = prepared()
    assert torch.equal(model.conv1(x), reference.conv1(x))
    assert torch.equal(model.bn1(model.conv1(x)), reference.bn1(reference.conv1(x)))
    close(model(x), reference(x))


def test_another_norm_in_its_place():
    model, reference, x = prepared()
    for one in (model, reference):
        one.bn1 = nn.Identity()
        one.downsample[1] = nn.Identity()
    torch.testing.assert_close(model(x), reference(x))
    assert torch.equal(model.conv1(x), reference.conv1(x))
    assert torch.equal(model.downsample(x), reference.downsample(x))


def test_a_norm_of_a_normalised_result_is_a_norm():
    model, reference, x = prepared()
    close(model.bn1(model.bn1(model.conv1(x))), reference.bn1(reference.bn1(reference.conv1(x))))
    close(model.bn1(x), reference.bn1(x))


def test_fx_and_jit_trace_the_modules_as_they_were():
    model = measured(nn.Sequential(nn.Conv2d(4, 6, 1), nn.BatchNorm2d(6), nn.ReLU()))
    x = torch.randn(2, 4, 5, 5)
    expected = model(x)
    mindiesd.prepare(model, steps=["fold-batch-norm"])
    assert torch.equal(torch.fx.symbolic_trace(model)(x), expected)
    assert torch.equal(torch.jit.trace(model, x)(x), expected)
    assert torch.equal(torch.export.export(model, (x,)).module()(x), expected)


@pytest.mark.parametrize("how", ["eval", "to"])
def test_values_written_through_data_count_after_a_change_of_mode_or_type(how):
    """As moving averages of parameters are copied into a model before it is evaluated."""
    model, reference, x = prepared()
    for one in (model, reference):
        for p in one.parameters():
            p.data.mul_(1.5)
        one.eval() if how == "eval" else one.to(torch.float32)
    close(model(x), reference(x))


def test_a_slice_of_a_sequence_is_a_sequence():
    model = measured(nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6), nn.ReLU()))
    x = torch.randn(2, 4, 7, 7)
    first, rest = model[:1](x), model[1:](x[:, [0, 1, 2, 3, 0, 1]])
    mindiesd.prepare(model, steps=["fold-batch-norm"])
    assert torch.equal(model[:1](x), first) and torch.equal(model[1:](x[:, [0, 1, 2, 3, 0, 1]]), rest)
    assert not model[:2].train().eval().training


def test_another_eps_counts():
    model, plain = Straight(), None
    measured(model)
    plain = copy.deepcopy(model)
    x = torch.randn(2, 4, 7, 7)
    mindiesd.prepare(model, x, steps=["fold-batch-norm"])
    assert torch.allclose(model(x), plain(x), atol=1e-4)
    model.norm.eps = plain.norm.eps = 0.5
    assert torch.allclose(model(x), plain(x), atol=1e-4)


def test_a_norm_that_loses_its_statistics_normalises_by_each_batch():
    model = measured(Straight())
    plain, x = copy.deepcopy(model), torch.randn(2, 4, 7, 7)
    mindiesd.prepare(model, x, steps=["fold-batch-norm"])
    for one in (model, plain):
        one.norm.running_mean = one.norm.running_var = None
    assert torch.equal(model(x), plain(x))


def test_memory_that_is_used_again_is_seen():
    model = measured(nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6)))
    x = torch.randn(2, 4, 7, 7)
    mindiesd.prepare(model, steps=["fold-batch-norm"])
    for _ in range(20):
        model(x)
        for _ in range(2):  # the second gets the memory that the first left, unless somebody keeps it
            model[0].weight.data = model[0].weight.data * -1.1
        assert torch.allclose(model(x), model[1](model[0](x)), atol=1e-3, rtol=1e-3)


def test_a_weight_that_is_turned_where_it_lies_is_seen():
    model = measured(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)))
    x = torch.randn(3, 4)
    mindiesd.prepare(model, steps=["fold-batch-norm"])
    model(x)
    model[0].weight.data = model[0].weight.data.t()
    assert torch.allclose(model(x), model[1](model[0](x)), atol=1e-4)


@pytest.mark.parametrize("name", ["conv", "norm"])
def test_a_copy_of_one_of_the_two_computes_as_it_is(name):
    model = measured(Straight())
    plain, x = copy.deepcopy(model), torch.randn(2, 4, 7, 7)
    mindiesd.prepare(model, x, steps=["fold-batch-norm"])
    setattr(model, name, copy.deepcopy(copy.deepcopy(getattr(model, name))))
    assert torch.equal(model(x), plain(x)) and not getattr(model, name)._mindiesd_pair._mindiesd_stale()
    mindiesd.restore(model)
    assert torch.equal(model(x), plain(x))


def test_torch_fuses_the_two():
    model = measured(Straight())
    plain, x = copy.deepcopy(model), torch.randn(2, 4, 7, 7)
    mindiesd.prepare(model, x, steps=["fold-batch-norm"])
    model.conv, model.norm = torch.nn.utils.fuse_conv_bn_eval(model.conv, model.norm), nn.Identity()
    torch.testing.assert_close(model(x), plain(x), atol=1e-4, rtol=1e-4)


def test_a_result_that_is_normalised_for_another_norm_is_an_error():
    model, _, x = prepared()
    model.conv1 = pickle.loads(pickle.dumps(model.conv1))  # with a norm of its own
    with pytest.raises(ModelExecError, match="comes to another batch norm"):
        model(x)
