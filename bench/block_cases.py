"""Blocks of diffusers' models at a small width, and what they are called with. Entry point: ``CASES``.

Each case is a function that gives (block, inputs, the bytes of one pass over its hidden states). Widths and
lengths are small, for passes over the hidden states do not depend on them; modulators and tables, whose share
does, count too, and are a hundredth of it at most.
"""

import torch

WIDTH, HEADS, IMAGE, TEXT = 512, 4, 1024, 128
HEAD = WIDTH // HEADS
BYTES = 2  # of a number in bfloat16
SINGLE, JOINT = IMAGE * WIDTH * BYTES, (IMAGE + TEXT) * WIDTH * BYTES
SIZES = dict(num_attention_heads=HEADS, attention_head_dim=HEAD)


def numbers(*shape, dtype=torch.bfloat16):
    return torch.randn(shape).to(dtype)


def streams():
    return dict(hidden_states=numbers(1, IMAGE, WIDTH), encoder_hidden_states=numbers(1, TEXT, WIDTH))


def tables(length, width=HEAD):
    return tuple(numbers(length, width, dtype=torch.float32) for _ in range(2))


def phases(*shape):
    angles = numbers(*shape, dtype=torch.float32)
    return torch.polar(torch.ones_like(angles), angles)


def flux_double():
    from diffusers.models.transformers.transformer_flux import FluxTransformerBlock

    inputs = streams() | dict(temb=numbers(1, WIDTH), image_rotary_emb=tables(IMAGE + TEXT))
    return FluxTransformerBlock(dim=WIDTH, **SIZES), inputs, JOINT


def flux_single():
    from diffusers.models.transformers.transformer_flux import FluxSingleTransformerBlock

    inputs = streams() | dict(temb=numbers(1, WIDTH), image_rotary_emb=tables(IMAGE + TEXT))
    return FluxSingleTransformerBlock(dim=WIDTH, **SIZES), inputs, JOINT


def sd3():
    from diffusers.models.attention import JointTransformerBlock

    block = JointTransformerBlock(dim=WIDTH, **SIZES, qk_norm="rms_norm")
    return block, streams() | dict(temb=numbers(1, WIDTH)), JOINT


def wan():
    from diffusers.models.transformers.transformer_wan import WanTransformerBlock

    block = WanTransformerBlock(
        dim=WIDTH, ffn_dim=4 * WIDTH, num_heads=HEADS, qk_norm="rms_norm_across_heads", cross_attn_norm=True
    )
    rotary = tuple(table[None, :, None] for table in tables(IMAGE))
    inputs = streams() | dict(temb=numbers(1, 6, WIDTH, dtype=torch.float32), rotary_emb=rotary)
    return block, inputs, SINGLE


def hunyuan_double():
    from diffusers.models.transformers.transformer_hunyuan_video import HunyuanVideoTransformerBlock

    inputs = streams() | dict(temb=numbers(1, WIDTH), freqs_cis=tables(IMAGE))
    return HunyuanVideoTransformerBlock(**SIZES, mlp_ratio=4.0), inputs, JOINT


def hunyuan_single():
    from diffusers.models.transformers.transformer_hunyuan_video import HunyuanVideoSingleTransformerBlock

    inputs = streams() | dict(temb=numbers(1, WIDTH), image_rotary_emb=tables(IMAGE))
    return HunyuanVideoSingleTransformerBlock(**SIZES), inputs, JOINT


def cogvideox():
    from diffusers.models.transformers.cogvideox_transformer_3d import CogVideoXBlock

    block = CogVideoXBlock(dim=WIDTH, **SIZES, time_embed_dim=WIDTH)
    return block, streams() | dict(temb=numbers(1, WIDTH), image_rotary_emb=tables(IMAGE)), JOINT


def ltx():
    from diffusers.models.transformers.transformer_ltx import LTXVideoTransformerBlock

    block = LTXVideoTransformerBlock(dim=WIDTH, **SIZES, cross_attention_dim=WIDTH)
    rotary = tuple(table[None] for table in tables(IMAGE, WIDTH))
    return block, streams() | dict(temb=numbers(1, 1, 6 * WIDTH), image_rotary_emb=rotary), SINGLE


def lumina2():
    from diffusers.models.transformers.transformer_lumina2 import Lumina2TransformerBlock

    block = Lumina2TransformerBlock(
        dim=WIDTH, num_attention_heads=HEADS, num_kv_heads=HEADS, multiple_of=256, ffn_dim_multiplier=None,
        norm_eps=1e-5,
    )  # fmt: skip
    inputs = dict(
        hidden_states=numbers(1, IMAGE, WIDTH), attention_mask=torch.ones(1, IMAGE, dtype=torch.bool),
        image_rotary_emb=phases(1, IMAGE, HEAD // 2), temb=numbers(1, WIDTH),
    )  # fmt: skip
    return block, inputs, SINGLE


def qwen_image():
    from diffusers.models.transformers.transformer_qwenimage import QwenImageTransformerBlock

    rotary = phases(IMAGE, HEAD // 2), phases(TEXT, HEAD // 2)
    inputs = streams() | dict(encoder_hidden_states_mask=None, temb=numbers(1, WIDTH), image_rotary_emb=rotary)
    return QwenImageTransformerBlock(dim=WIDTH, **SIZES), inputs, JOINT


def pixart():
    from diffusers.models.attention import BasicTransformerBlock

    block = BasicTransformerBlock(
        dim=WIDTH, **SIZES, cross_attention_dim=WIDTH, activation_fn="gelu-approximate", attention_bias=True,
        norm_type="ada_norm_single", norm_elementwise_affine=False, norm_eps=1e-6,
    )  # fmt: skip
    return block, streams() | dict(timestep=numbers(1, 6 * WIDTH)), SINGLE


def sana():
    from diffusers.models.transformers.sana_transformer import SanaTransformerBlock

    block = SanaTransformerBlock(
        dim=WIDTH, **SIZES, num_cross_attention_heads=HEADS, cross_attention_head_dim=HEAD,
        cross_attention_dim=WIDTH,
    )  # fmt: skip
    return block, streams() | dict(timestep=numbers(1, 6 * WIDTH), height=32, width=IMAGE // 32), SINGLE


def sdxl():
    from diffusers.models.attention import BasicTransformerBlock

    return BasicTransformerBlock(dim=WIDTH, **SIZES, cross_attention_dim=WIDTH), streams(), SINGLE


def resnet():
    from diffusers.models.resnet import ResnetBlock2D

    block = ResnetBlock2D(in_channels=WIDTH, temb_channels=WIDTH, groups=32, eps=1e-5)
    inputs = dict(input_tensor=numbers(1, WIDTH, 32, IMAGE // 32), temb=numbers(1, WIDTH))
    return block, inputs, SINGLE


CASES = {
    "Flux, two streams": flux_double,
    "Flux, one stream": flux_single,
    "SD3.5": sd3,
    "Wan": wan,
    "HunyuanVideo, two streams": hunyuan_double,
    "HunyuanVideo, one stream": hunyuan_single,
    "CogVideoX": cogvideox,
    "LTX-Video": ltx,
    "Lumina 2": lumina2,
    "Qwen-Image": qwen_image,
    "PixArt": pixart,
    "Sana": sana,
    "SDXL's transformer": sdxl,
    "SDXL's ResNet": resnet,
}
