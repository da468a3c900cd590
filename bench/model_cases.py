"""Models of diffusers at their published widths with fewer blocks, and inputs of a usual size.

`small` gives the same classes with a few heads and tokens, to try the benchmark where there is no GPU.
"""

import torch


class Inputs:
    """Seeded operands on one device, in one type."""

    def __init__(self, device, dtype):
        self.device, self.dtype = device, dtype
        self.generator = torch.Generator("cpu").manual_seed(1)

    def normal(self, *shape):
        return torch.randn(shape, generator=self.generator).to(self.device, self.dtype)

    def step(self, batch):
        return torch.full((batch,), 500, device=self.device)

    def to(self, dtype):
        return Inputs(self.device, dtype)


def wan(small):
    from diffusers import WanTransformer3DModel

    sizes = dict(num_attention_heads=2, attention_head_dim=128, ffn_dim=512) if small else {}
    latent = (1, 16, 2, 8, 8) if small else (1, 16, 21, 60, 104)

    def inputs(of):
        return dict(
            hidden_states=of.normal(*latent), timestep=of.step(1),
            encoder_hidden_states=of.normal(1, 512, 4096), return_dict=False,
        )  # fmt: skip

    return lambda: WanTransformer3DModel(num_layers=4, **sizes), inputs


def sdxl(small):
    from diffusers import UNet2DConditionModel

    channels = (32, 64, 128) if small else (320, 640, 1280)
    side = 16 if small else 128

    def build():
        return UNet2DConditionModel(
            sample_size=128, in_channels=4, out_channels=4, layers_per_block=2,
            block_out_channels=channels, attention_head_dim=(5, 10, 20) if not small else (1, 2, 4),
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
            transformer_layers_per_block=(1, 1, 1) if small else (1, 2, 10),
            cross_attention_dim=2048, use_linear_projection=True, addition_embed_type="text_time",
            addition_time_embed_dim=256, projection_class_embeddings_input_dim=2816,
        )  # fmt: skip

    def inputs(of):
        more = dict(text_embeds=of.normal(2, 1280), time_ids=of.normal(2, 6))
        return dict(
            sample=of.normal(2, 4, side, side), timestep=of.step(2), added_cond_kwargs=more,
            encoder_hidden_states=of.normal(2, 77, 2048), return_dict=False,
        )  # fmt: skip

    return build, inputs


def sd3(small):
    from diffusers import SD3Transformer2DModel

    heads, layers, side = (2, 2, 16) if small else (24, 8, 128)

    def build():
        return SD3Transformer2DModel(
            sample_size=128, patch_size=2, in_channels=16, out_channels=16, num_layers=layers,
            attention_head_dim=64, num_attention_heads=heads, joint_attention_dim=4096,
            caption_projection_dim=64 * heads, pooled_projection_dim=2048, pos_embed_max_size=192,
        )  # fmt: skip

    def inputs(of):
        return dict(
            hidden_states=of.normal(2, 16, side, side), timestep=of.step(2), return_dict=False,
            encoder_hidden_states=of.normal(2, 333, 4096), pooled_projections=of.normal(2, 2048),
        )  # fmt: skip

    return build, inputs


def flux(small):
    from diffusers import FluxTransformer2DModel

    heads, side = (2, 8) if small else (24, 64)

    def build():
        return FluxTransformer2DModel(
            num_layers=4, num_single_layers=8, num_attention_heads=heads, attention_head_dim=128,
            joint_attention_dim=4096, pooled_projection_dim=768, guidance_embeds=True,
        )  # fmt: skip

    def inputs(of):
        places = torch.zeros(side, side, 3, device=of.device, dtype=of.dtype)
        places[..., 1] += torch.arange(side, device=of.device)[:, None]
        places[..., 2] += torch.arange(side, device=of.device)[None]
        return dict(
            hidden_states=of.normal(1, side * side, 64), encoder_hidden_states=of.normal(1, 512, 4096),
            pooled_projections=of.normal(1, 768), timestep=of.step(1) / 1000, img_ids=places.view(-1, 3),
            txt_ids=torch.zeros(512, 3, device=of.device, dtype=of.dtype),
            guidance=torch.full((1,), 4.0, device=of.device), return_dict=False,
        )  # fmt: skip

    return build, inputs


def cogvideox(small):
    from diffusers import CogVideoXTransformer3DModel

    heads = 2 if small else 48
    frames, height, width = (2, 8, 8) if small else (13, 60, 90)

    def build():
        return CogVideoXTransformer3DModel(
            num_attention_heads=heads, attention_head_dim=64, num_layers=4,
            use_rotary_positional_embeddings=True, sample_width=90, sample_height=60,
        )  # fmt: skip

    def inputs(of):
        tokens = frames * height * width // 4
        angles = torch.rand(tokens, 32, generator=of.generator).mul(6.28).to(of.device)
        angles = angles.repeat_interleave(2, dim=1)
        return dict(
            hidden_states=of.normal(1, frames, 16, height, width), timestep=of.step(1),
            encoder_hidden_states=of.normal(1, 226, 4096),
            image_rotary_emb=(angles.cos(), angles.sin()), return_dict=False,
        )  # fmt: skip

    return build, inputs


def vae(small):
    from diffusers import AutoencoderKL

    channels = (32, 64) if small else (128, 256, 512, 512)
    side = 16 if small else 128

    def build():
        count = len(channels)
        decoder = AutoencoderKL(
            latent_channels=4, layers_per_block=2, block_out_channels=channels,
            down_block_types=("DownEncoderBlock2D",) * count,
            up_block_types=("UpDecoderBlock2D",) * count,
        )  # fmt: skip
        return decoder.decoder

    return build, lambda of: dict(sample=of.normal(1, 4, side, side))


def hunyuan_video(small):
    from diffusers import HunyuanVideoTransformer3DModel

    heads, double, single = (2, 1, 1) if small else (24, 3, 6)
    frames, height, width = (2, 8, 8) if small else (5, 90, 160)

    def build():
        return HunyuanVideoTransformer3DModel(
            num_attention_heads=heads, attention_head_dim=128, num_layers=double,
            num_single_layers=single, guidance_embeds=True,
        )  # fmt: skip

    def inputs(of):
        return dict(
            hidden_states=of.normal(1, 16, frames, height, width), timestep=of.step(1),
            encoder_hidden_states=of.normal(1, 256, 4096), pooled_projections=of.normal(1, 768),
            encoder_attention_mask=torch.ones(1, 256, device=of.device, dtype=of.dtype),
            guidance=torch.full((1,), 6016.0, device=of.device, dtype=of.dtype), return_dict=False,
        )  # fmt: skip

    return build, inputs


CASES = {
    "Flux.1-dev, 4 + 8 blocks, 1024²": flux,
    "Wan2.1-14B, 4 blocks, 32,760 tokens": wan,
    "SD3-medium, 8 blocks, batch 2": sd3,
    "SDXL UNet, batch 2, 1024²": sdxl,
    "HunyuanVideo, 3 + 6 blocks, 18,256 tokens": hunyuan_video,
    "CogVideoX-5B, 4 blocks, 17,776 tokens": cogvideox,
    "SDXL's VAE decoder, 1024²": vae,
}
