"""Models of transformers and diffusers, small and with random weights: before and after agree, weights load, and what
is taken back computes what it did bit for bit."""

import copy
import importlib.util
from pathlib import Path

import pytest
import torch

import mindiesd

BENCH = Path(__file__).resolve().parents[3] / "bench"


def clip_vision():
    transformers = pytest.importorskip("transformers")
    config = transformers.CLIPVisionConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8
    )
    return transformers.CLIPVisionModel(config), {"pixel_values": torch.randn(2, 3, 32, 32)}


def clip_text():
    transformers = pytest.importorskip("transformers")
    config = transformers.CLIPTextConfig(
        vocab_size=99, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4
    )
    return transformers.CLIPTextModel(config), {"input_ids": torch.randint(0, 99, (2, 7))}


def llama():
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=99, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, tie_word_embeddings=True,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config), {"input_ids": torch.randint(0, 99, (2, 7))}


def resnet():
    transformers = pytest.importorskip("transformers")
    config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[16, 32], depths=[2, 1], num_labels=5)
    return transformers.ResNetForImageClassification(config), {"pixel_values": torch.randn(2, 3, 32, 32)}


def mobilenet():
    transformers = pytest.importorskip("transformers")
    config = transformers.MobileNetV2Config(depth_multiplier=0.25, image_size=32)
    return transformers.MobileNetV2Model(config), {"pixel_values": torch.randn(2, 3, 32, 32)}


def unet():
    diffusers = pytest.importorskip("diffusers")
    model = diffusers.UNet2DConditionModel(
        sample_size=8, block_out_channels=(32, 64), layers_per_block=1, cross_attention_dim=16, attention_head_dim=8,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    )  # fmt: skip
    text = torch.randn(2, 5, 16)
    return model, {"sample": torch.randn(2, 4, 8, 8), "timestep": torch.tensor(3), "encoder_hidden_states": text}


def vae():
    diffusers = pytest.importorskip("diffusers")
    model = diffusers.AutoencoderKL(
        block_out_channels=(32, 64), latent_channels=4, sample_size=16,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip
    return model, {"sample": torch.randn(2, 3, 16, 16)}


def detector():
    spec = importlib.util.spec_from_file_location("prepare_models", BENCH / "prepare_models.py")
    models = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(BENCH)
        spec.loader.exec_module(models)
    return models.Detector(8, 1, classes=5), {"x": torch.randn(1, 3, 64, 64)}


# What each step changes: dropouts, pairs folded, groups of linears merged; whether convolutions change their layout.
MODELS = {
    clip_vision: (0, 0, 2, True),
    clip_text: (0, 0, 2, False),
    llama: (0, 0, 4, False),
    resnet: (4, 12, 0, True),
    mobilenet: (0, 52, 0, True),
    unet: (20, 0, 8, True),
    vae: (12, 0, 2, True),
    detector: (0, 33, 0, True),
}
STEPS = ("remove-dropout", "fold-batch-norm", "merge-linears", "channels-last")


def values(model, inputs):
    from mindiesd.prepare.compare import flatten

    return [value for value in flatten(model(**copy.deepcopy(inputs))) if isinstance(value, torch.Tensor)]


@pytest.mark.parametrize("make", MODELS)
def test_a_model(make):
    model, inputs = make()
    model.eval()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
    expected, state = values(model, inputs), copy.deepcopy(model.state_dict())
    kinds, parameters = [type(module) for module in model.modules()], list(model.parameters())
    report = mindiesd.prepare(model, inputs, steps=STEPS)
    *counts, channels_last = (report.count(step) for step in STEPS)
    assert (*counts, channels_last > 0) == MODELS[make], str(report)
    assert not report.why("") or "no two-dimensional" in report.why("")[0]
    for result, wanted in zip(values(model, inputs), expected, strict=True):
        torch.testing.assert_close(result, wanted, rtol=0, atol=2e-5 * wanted.abs().max().item())
        assert result.stride() == wanted.stride()
    assert list(model.state_dict()) == list(state)
    model.load_state_dict({key: value * 1.5 if value.is_floating_point() else value for key, value in state.items()})
    loaded = values(model, inputs)
    mindiesd.restore(model)
    for result, wanted in zip(values(model, inputs), loaded, strict=True):
        torch.testing.assert_close(result, wanted, rtol=0, atol=2e-5 * wanted.abs().max().item())
    model.load_state_dict(state)
    assert [type(module) for module in model.modules()] == kinds
    assert all(p is q for p, q in zip(parameters, model.parameters(), strict=True))
    assert all(torch.equal(*pair) for pair in zip(values(model, inputs), expected, strict=True))
