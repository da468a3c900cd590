"""The models that the end-to-end tests build: small configurations of many families of diffusers.

Entry point: `CASES`, by name. A case holds the class and its configuration (both from models.json),
a function that draws the inputs, and a function that says how many attention, rotary and norm
computations one forward pass makes, computed from the configuration.

The numbers are chosen so that a mixed-up axis shows: batch, heads, length and head size are
pairwise different, masks hide some keys and differ between samples, every stack has at least two
blocks.
"""

import dataclasses
import json
import pathlib
from collections.abc import Callable
from typing import Any

import torch

BATCH = 2


@dataclasses.dataclass(frozen=True)
class Counts:
    """How often one forward pass computes each kind."""

    attention: int = 0
    rotary: int = 0
    norm: int = 0


class Draw:
    """Inputs from one seeded generator; floating tensors come in `dtype`."""

    def __init__(self, seed: int, dtype: torch.dtype):
        self._generator = torch.Generator().manual_seed(seed)
        self.dtype = dtype

    def normal(self, *shape: int) -> torch.Tensor:
        """Standard normal values."""
        return torch.randn(shape, generator=self._generator).to(self.dtype)

    def integers(self, high: int, *shape: int) -> torch.Tensor:
        """int64 values in [0, high)."""
        return torch.randint(high, shape, generator=self._generator)

    def timesteps(self, batch: int = BATCH) -> torch.Tensor:
        """A different timestep for every sample: 500, 250, 125.

        These, and their thousandths, are exact in bfloat16; a rounded timestep would turn by whole
        radians in the sinusoidal embedding and drown every other error.
        """
        return (500 * 0.5 ** torch.arange(batch)).to(self.dtype)

    def holes(self, *shape: int) -> torch.Tensor:
        """Boolean mask with some False anywhere; the first key of every row stays True."""
        mask = torch.rand(shape, generator=self._generator) > 0.4
        mask[..., 0] = True
        mask[..., -1] = False
        return mask

    def prefixes(self, batch: int, length: int) -> torch.Tensor:
        """Boolean mask whose sample i keeps its first length - 1 - 2 * i positions."""
        lengths = torch.arange(length - 1, length - 1 - 2 * batch, -2)
        return torch.arange(length)[None, :] < lengths[:, None]

    def tables(self, length: int, width: int) -> tuple[torch.Tensor, torch.Tensor]:
        """cos and sin [length, width], float32, of unrelated angles: no two columns agree."""
        angles = torch.rand(length, width, generator=self._generator) * 6.28
        return angles.cos(), angles.sin()

    def paired_tables(self, length: int, width: int) -> tuple[torch.Tensor, torch.Tensor]:
        """cos and sin [length, width] whose columns 2i and 2i + 1 are equal."""
        cos, sin = self.tables(length, width // 2)
        return cos.repeat_interleave(2, dim=1), sin.repeat_interleave(2, dim=1)

    def rotations(self, *shape: int) -> torch.Tensor:
        """complex64 values of modulus one."""
        angles = torch.rand(shape, generator=self._generator) * 6.28
        return torch.polar(torch.ones_like(angles), angles)


@dataclasses.dataclass(frozen=True)
class Case:
    """One model: class_name in diffusers, its configuration, inputs and counts."""

    class_name: str
    config: dict[str, Any]
    inputs: Callable[[Draw, dict[str, Any]], dict[str, Any]]
    counts: Callable[[dict[str, Any]], Counts]


def _grid_ids(*sizes: int) -> torch.Tensor:
    """Coordinates [prod(sizes), len(sizes)] of a grid, last axis fastest."""
    axes = torch.meshgrid(*(torch.arange(size) for size in sizes), indexing="ij")
    return torch.stack(axes, dim=-1).reshape(-1, len(sizes))


def _flux_inputs(draw, config):
    image_ids = torch.cat([torch.zeros(20, 1), _grid_ids(4, 5)], dim=1)
    return dict(
        hidden_states=draw.normal(BATCH, 20, config["in_channels"]),
        encoder_hidden_states=draw.normal(BATCH, 7, config["joint_attention_dim"]),
        pooled_projections=draw.normal(BATCH, config["pooled_projection_dim"]),
        timestep=draw.timesteps() / 1000,
        guidance=draw.timesteps().flip(0) / 1000,
        img_ids=image_ids,
        txt_ids=torch.zeros(7, 3),
    )


def _flux_counts(config):
    double, single = config["num_layers"], config["num_single_layers"]
    return Counts(
        attention=double + single,
        rotary=2 * (double + single),
        norm=4 * double + 2 * single,  # query and key, and those of the added text stream
    )


def _chroma_inputs(draw, config):
    text, image = 7, 20
    mask = torch.cat(
        [draw.prefixes(BATCH, text), torch.ones(BATCH, image, dtype=torch.bool)], dim=1
    )
    return dict(
        hidden_states=draw.normal(BATCH, image, config["in_channels"]),
        encoder_hidden_states=draw.normal(BATCH, text, config["joint_attention_dim"]),
        timestep=draw.timesteps() / 1000,
        img_ids=torch.cat([torch.zeros(image, 1), _grid_ids(4, 5)], dim=1),
        txt_ids=torch.zeros(text, 3),
        attention_mask=mask,
    )


def _chroma_counts(config):
    counts = _flux_counts(config)
    return dataclasses.replace(counts, norm=counts.norm + config["approximator_layers"])


def _wan_inputs(draw, config):
    # The processor takes the last 512 tokens for text and those before it for the image.
    return dict(
        hidden_states=draw.normal(BATCH, config["in_channels"], 3, 4, 6),
        timestep=draw.timesteps(),
        encoder_hidden_states=draw.normal(BATCH, 512, config["text_dim"]),
        encoder_hidden_states_image=draw.normal(BATCH, 9, config["image_dim"]),
    )


def _wan_counts(config):
    layers = config["num_layers"]
    return Counts(attention=3 * layers, rotary=2 * layers, norm=5 * layers)


def _sd3_inputs(draw, config):
    return dict(
        hidden_states=draw.normal(BATCH, config["in_channels"], 8, 10),
        encoder_hidden_states=draw.normal(BATCH, 7, config["joint_attention_dim"]),
        pooled_projections=draw.normal(BATCH, config["pooled_projection_dim"]),
        timestep=draw.timesteps(),
    )


def _sd3_counts(config):
    layers, dual = config["num_layers"], len(config["dual_attention_layers"])
    return Counts(attention=layers + dual, norm=4 * layers + 2 * dual)


def _cogvideox_inputs(draw, config):
    frames, height, width = 3, 4, 6
    length = frames * (height // 2) * (width // 2)  # patches of two by two
    return dict(
        hidden_states=draw.normal(BATCH, frames, config["in_channels"], height, width),
        encoder_hidden_states=draw.normal(BATCH, 7, config["text_embed_dim"]),
        timestep=draw.timesteps(),
        image_rotary_emb=draw.tables(length, config["attention_head_dim"]),
    )


def _cogvideox_counts(config):
    return Counts(attention=config["num_layers"], rotary=2 * config["num_layers"])


def _hunyuan_video_inputs(draw, config):
    return dict(
        hidden_states=draw.normal(BATCH, config["in_channels"], 2, 4, 6),
        timestep=draw.timesteps(),
        encoder_hidden_states=draw.normal(BATCH, 9, config["text_embed_dim"]),
        encoder_attention_mask=draw.prefixes(BATCH, 9),
        pooled_projections=draw.normal(BATCH, config["pooled_projection_dim"]),
        guidance=draw.timesteps().flip(0),
    )


def _hunyuan_video_counts(config):
    double, single, refiner = (
        config["num_layers"],
        config["num_single_layers"],
        config["num_refiner_layers"],
    )
    return Counts(
        attention=double + single + refiner,
        rotary=2 * (double + single),
        norm=4 * double + 2 * single,
    )


def _lumina2_inputs(draw, config):
    return dict(
        hidden_states=draw.normal(BATCH, config["in_channels"], 8, 10),
        timestep=draw.timesteps() / 1000,
        encoder_hidden_states=draw.normal(BATCH, 9, config["cap_feat_dim"]),
        encoder_attention_mask=draw.prefixes(BATCH, 9),
    )


def _lumina2_counts(config):
    # Refiners for text and for noise; each block has four norms around attention and feed-forward,
    # of which norm1 of the modulated blocks sits in LuminaRMSNormZero; one more norm embeds the
    # caption.
    blocks = config["num_layers"] + 2 * config["num_refiner_layers"]
    return Counts(attention=blocks, rotary=2 * blocks, norm=6 * blocks + 1)


def _auraflow_inputs(draw, config):
    return dict(
        hidden_states=draw.normal(BATCH, config["in_channels"], 8, 10),
        encoder_hidden_states=draw.normal(BATCH, 7, config["joint_attention_dim"]),
        timestep=draw.timesteps() / 1000,
    )


def _auraflow_counts(config):
    return Counts(attention=config["num_mmdit_layers"] + config["num_single_dit_layers"])


def _stable_audio_inputs(draw, config):
    length = 11
    return dict(
        hidden_states=draw.normal(BATCH, config["in_channels"], length),
        timestep=draw.timesteps() / 1000,
        encoder_hidden_states=draw.normal(BATCH, 7, config["cross_attention_input_dim"]),
        global_hidden_states=draw.normal(BATCH, 1, config["global_states_input_dim"]),
        # One token of global conditions is prepended; half of each head is rotated.
        rotary_embedding=draw.tables(length + 1, config["attention_head_dim"] // 2),
    )


def _stable_audio_counts(config):
    layers = config["num_layers"]
    return Counts(attention=2 * layers, rotary=2 * layers)


def _unet_inputs(draw, config):
    return dict(
        sample=draw.normal(BATCH, config["in_channels"], 8, 12),
        timestep=draw.timesteps(),
        encoder_hidden_states=draw.normal(BATCH, 7, config["cross_attention_dim"]),
        encoder_attention_mask=draw.holes(BATCH, 7),
    )


def _unet_counts(config):
    layers = config["layers_per_block"]
    down = sum("CrossAttn" in block for block in config["down_block_types"]) * layers
    up = sum("CrossAttn" in block for block in config["up_block_types"]) * (layers + 1)
    return Counts(attention=2 * (down + 1 + up))  # self and cross; the middle block has one


def _mochi_inputs(draw, config):
    return dict(
        hidden_states=draw.normal(BATCH, config["in_channels"], 2, 6, 8),
        encoder_hidden_states=draw.normal(BATCH, 9, config["text_embed_dim"]),
        timestep=draw.timesteps(),
        encoder_attention_mask=draw.prefixes(BATCH, 9),
    )


def _mochi_counts(config):
    # The processor unpads and attends sample by sample; one more attention pools the text. Norms of
    # a block: query and key of both streams, one before attention and three after for each stream,
    # where the last block gives the text one norm before attention and none after.
    layers = config["num_layers"]
    return Counts(
        attention=layers * BATCH + 1,
        rotary=2 * layers,
        norm=4 * layers + 4 * layers + 4 * (layers - 1) + 1,
    )


def _ltx_inputs(draw, config):
    frames, height, width = 2, 3, 5
    return dict(
        hidden_states=draw.normal(BATCH, frames * height * width, config["in_channels"]),
        encoder_hidden_states=draw.normal(BATCH, 7, config["caption_channels"]),
        timestep=draw.timesteps(),
        encoder_attention_mask=draw.holes(BATCH, 7),
        num_frames=frames,
        height=height,
        width=width,
        rope_interpolation_scale=(1.0, 2.0, 2.0),
    )


def _ltx_counts(config):
    layers = config["num_layers"]
    # norm1 and norm2 of a block, and query and key norms of both attentions.
    return Counts(attention=2 * layers, rotary=2 * layers, norm=6 * layers)


def _qwen_inputs(draw, config):
    return dict(
        hidden_states=draw.normal(BATCH, 20, config["in_channels"]),
        encoder_hidden_states=draw.normal(BATCH, 9, config["joint_attention_dim"]),
        encoder_hidden_states_mask=draw.holes(BATCH, 9),
        timestep=draw.timesteps() / 1000,
        img_shapes=[[(1, 4, 5)]] * BATCH,
    )


def _qwen_counts(config):
    layers = config["num_layers"]
    # Query and key of image and of text are rotated apart; one norm stands before the text
    # projection.
    return Counts(attention=layers, rotary=4 * layers, norm=4 * layers + 1)


def _sana_inputs(draw, config):
    return dict(
        hidden_states=draw.normal(BATCH, config["in_channels"], 4, 5),
        encoder_hidden_states=draw.normal(BATCH, 7, config["caption_channels"]),
        timestep=draw.timesteps(),
        encoder_attention_mask=draw.holes(BATCH, 7),
    )


def _sana_counts(config):
    # Self-attention is linear attention; cross-attention is the ordinary one. The caption is
    # normalised.
    layers = config["num_layers"]
    return Counts(attention=layers, norm=4 * layers + 1)


def _cogview4_inputs(draw, config):
    return dict(
        hidden_states=draw.normal(BATCH, config["in_channels"], 8, 10),
        encoder_hidden_states=draw.normal(BATCH, 7, config["text_embed_dim"]),
        timestep=draw.timesteps(),
        original_size=draw.integers(64, BATCH, 2).float(),
        target_size=draw.integers(64, BATCH, 2).float(),
        crop_coords=draw.integers(64, BATCH, 2).float(),
        attention_mask=draw.prefixes(BATCH, 7),
    )


def _cogview4_counts(config):
    return Counts(attention=config["num_layers"], rotary=2 * config["num_layers"])


def _omnigen_inputs(draw, config):
    text, image = 9, 20
    length = text + 1 + image  # one token carries the timestep
    causal = torch.ones(length, length).tril().bool()
    causal[-image:, -image:] = True
    mask = causal[None] & draw.holes(BATCH, 1, length)
    mask |= torch.eye(length, dtype=torch.bool)
    return dict(
        hidden_states=draw.normal(BATCH, config["in_channels"], 8, 10),
        timestep=draw.timesteps(),
        input_ids=draw.integers(config["vocab_size"], BATCH, text),
        input_img_latents=[],
        input_image_sizes={},
        attention_mask=mask.long(),
        position_ids=torch.arange(length).expand(BATCH, -1),
    )


def _omnigen_counts(config):
    layers = config["num_layers"]
    return Counts(attention=layers, rotary=2 * layers, norm=2 * layers + 1)


def _pixart_inputs(draw, config):
    return dict(
        hidden_states=draw.normal(BATCH, config["in_channels"], 8, 10),
        encoder_hidden_states=draw.normal(BATCH, 7, config["caption_channels"]),
        timestep=draw.timesteps(),
        added_cond_kwargs=dict(resolution=None, aspect_ratio=None),
        encoder_attention_mask=draw.holes(BATCH, 7),
    )


def _self_and_cross_counts(config):
    return Counts(attention=2 * config["num_layers"])


def _latte_inputs(draw, config):
    return dict(
        hidden_states=draw.normal(BATCH, config["in_channels"], config["video_length"], 8, 8),
        timestep=draw.timesteps(),
        encoder_hidden_states=draw.normal(BATCH, 7, config["caption_channels"]),
        # The model repeats the text for each frame, but not its mask.
        encoder_attention_mask=draw.holes(BATCH * config["video_length"], 7),
    )


def _latte_counts(config):
    # Spatial blocks attend to themselves and to the text, temporal ones only to themselves.
    return Counts(attention=3 * config["num_layers"])


def _z_image_inputs(draw, config):
    # Lists: one image [channels, frames, height, width] and one caption [length, width] a sample.
    return dict(
        x=[
            draw.normal(config["in_channels"], 1, 8, 10),
            draw.normal(config["in_channels"], 1, 4, 6),
        ],
        t=draw.timesteps() / 1000,
        cap_feats=[draw.normal(9, config["cap_feat_dim"]), draw.normal(37, config["cap_feat_dim"])],
    )


def _z_image_counts(config):
    blocks = config["n_layers"] + 2 * config["n_refiner_layers"]
    return Counts(attention=blocks, rotary=2 * blocks, norm=6 * blocks + 1)


def _cosmos_inputs(draw, config):
    return dict(
        hidden_states=draw.normal(BATCH, config["in_channels"], 2, 6, 10),
        timestep=draw.timesteps(),
        encoder_hidden_states=draw.normal(BATCH, 7, config["text_embed_dim"]),
        attention_mask=draw.holes(BATCH, 7),
        fps=24,
    )


def _cosmos_counts(config):
    layers = config["num_layers"]
    # Query and key norms of both attentions, and one norm of the embedded timestep.
    return Counts(attention=2 * layers, rotary=2 * layers, norm=4 * layers + 1)


_VAE_FRAMES = 5


def _wan_vae_inputs(draw, config):
    return dict(sample=draw.normal(BATCH, 3, _VAE_FRAMES, 16, 24))


def _wan_vae_counts(config):
    # One attention in the middle block of encoder and of decoder. Frames come in chunks: the
    # encoder takes the first frame alone and then four at a time, the decoder one latent frame at a
    # time.
    chunks = 1 + (_VAE_FRAMES - 1) // 4
    latent_frames = 1 + (_VAE_FRAMES - 1) // 2 ** sum(config["temperal_downsample"])
    return Counts(attention=chunks + latent_frames)


def _lumina_inputs(draw, config):
    return dict(
        hidden_states=draw.normal(BATCH, config["in_channels"], 8, 10),
        timestep=draw.timesteps() / 1000,
        encoder_hidden_states=draw.normal(BATCH, 7, config["cross_attention_dim"]),
        encoder_mask=draw.prefixes(BATCH, 7),
        image_rotary_emb=draw.rotations(
            4, 5, config["hidden_size"] // config["num_attention_heads"] // 2
        ),
        cross_attention_kwargs={},
    )


def _lumina_counts(config):
    # Self-attention rotates query and key, attention to the text the query alone.
    layers = config["num_layers"]
    return Counts(attention=2 * layers, rotary=3 * layers, norm=5 * layers)


# Inputs and counts of each model in models.json.
_FUNCTIONS = {
    "flux": (_flux_inputs, _flux_counts),
    "chroma": (_chroma_inputs, _chroma_counts),
    "wan": (_wan_inputs, _wan_counts),
    "sd3": (_sd3_inputs, _sd3_counts),
    "cogvideox": (_cogvideox_inputs, _cogvideox_counts),
    "hunyuan_video": (_hunyuan_video_inputs, _hunyuan_video_counts),
    "lumina2": (_lumina2_inputs, _lumina2_counts),
    "lumina_next": (_lumina_inputs, _lumina_counts),
    "auraflow": (_auraflow_inputs, _auraflow_counts),
    "stable_audio": (_stable_audio_inputs, _stable_audio_counts),
    "unet": (_unet_inputs, _unet_counts),
    "mochi": (_mochi_inputs, _mochi_counts),
    "ltx": (_ltx_inputs, _ltx_counts),
    "qwen_image": (_qwen_inputs, _qwen_counts),
    "sana": (_sana_inputs, _sana_counts),
    "cogview4": (_cogview4_inputs, _cogview4_counts),
    "omnigen": (_omnigen_inputs, _omnigen_counts),
    "pixart": (_pixart_inputs, _self_and_cross_counts),
    "latte": (_latte_inputs, _latte_counts),
    "z_image": (_z_image_inputs, _z_image_counts),
    "cosmos": (_cosmos_inputs, _cosmos_counts),
    "wan_vae": (_wan_vae_inputs, _wan_vae_counts),
}


def _load() -> dict[str, Case]:
    path = pathlib.Path(__file__).with_name("models.json")
    table = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: Case(table[name]["class"], table[name]["config"], *functions)
        for name, functions in _FUNCTIONS.items()
    }


CASES = _load()
