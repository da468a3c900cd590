"""Calls single definitions of diffusers on drawn tensors: rotations and norms, one by one.

Entry points: `CALLS` and `run`. A model runs few of the definitions that migration rewrites; here
each is called by itself, also those nested in another function, with every mode and mix of types it
has. Their names are those of a report's `callee`.
"""

import ast
import dataclasses
import importlib
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import torch

from proof import models

BATCH, LENGTH, HEADS, WIDTH = 2, 5, 3, 16
HALF = WIDTH // 2


@dataclasses.dataclass(frozen=True)
class Call:
    """One call. definition: module and path in it; arguments: draws (args, kwargs).

    build: for a method `forward`, keyword arguments of its class; None for a function.
    weight_dtype: type of the module's parameters where it is not that of the input. assigned: where
    the definition is only an expression in a function, the target that it is assigned to; its names
    are the keyword arguments.
    """

    definition: str
    arguments: Callable[[models.Draw], tuple[tuple, dict[str, Any]]]
    build: dict[str, Any] | None = None
    weight_dtype: torch.dtype | None = None
    assigned: str | None = None


def _bsnd(draw):
    return draw.normal(BATCH, LENGTH, HEADS, WIDTH)


def _bnsd(draw):
    return draw.normal(BATCH, HEADS, LENGTH, WIDTH)


def _tables(draw):
    return draw.tables(LENGTH, WIDTH)


def _matrices(draw, *shape):
    """2 x 2 rotation matrices [*shape, 2, 2]."""
    cos, sin = draw.tables(1, torch.Size(shape).numel())
    return torch.stack([cos, -sin, sin, cos], dim=-1).view(*shape, 2, 2)


def _calls() -> dict[str, Call]:
    transformers = "diffusers.models.transformers"
    calls: dict[str, Call] = {}

    def add(label, definition, arguments, **more):
        calls[f"{definition}: {label}"] = Call(definition, arguments, **more)

    embeddings = "diffusers.models.embeddings"
    rotary = f"{embeddings}.apply_rotary_emb"
    add("pairs", rotary, lambda d: ((_bnsd(d), _tables(d)), {}))
    add("halves", rotary, lambda d: ((_bnsd(d), _tables(d)), dict(use_real_unbind_dim=-2)))
    add("pairs, length first", rotary, lambda d: ((_bsnd(d), _tables(d)), dict(sequence_dim=1)))
    add(
        "halves, length first",
        rotary,
        lambda d: ((_bsnd(d), _tables(d)), dict(use_real_unbind_dim=-2, sequence_dim=1)),
    )
    add(
        "complex",
        rotary,
        lambda d: ((_bsnd(d), d.rotations(BATCH, LENGTH, HALF)), dict(use_real=False)),
    )
    add(
        "by positions",
        f"{embeddings}.apply_rotary_emb_allegro.apply_1d_rope",
        lambda d: ((_bnsd(d), d.integers(9, BATCH, LENGTH), *d.tables(9, WIDTH)), {}),
    )
    for module in ("transformer_qwenimage", "transformer_qwenimage21"):
        name = f"{transformers}.{module}.apply_rotary_emb_qwen"
        add("pairs", name, lambda d: ((_bnsd(d), _tables(d)), {}))
        add("halves", name, lambda d: ((_bnsd(d), _tables(d)), dict(use_real_unbind_dim=-2)))
        add(
            "complex",
            name,
            lambda d: ((_bsnd(d), d.rotations(LENGTH, HALF)), dict(use_real=False)),
        )
    name = f"{transformers}.transformer_nucleusmoe_image._apply_rotary_emb_nucleus"
    add("pairs", name, lambda d: ((_bnsd(d), _tables(d)), {}))
    add("halves", name, lambda d: ((_bnsd(d), _tables(d)), dict(use_real_unbind_dim=-2)))
    add("complex", name, lambda d: ((_bsnd(d), d.rotations(LENGTH, HALF)), dict(use_real=False)))

    # Wan's: pairs stored by stride, tables [1, length, 1, width].
    for path in (
        "transformer_wan.WanAttnProcessor",
        "transformer_wan_animate.WanAttnProcessor",
        "transformer_chronoedit.WanAttnProcessor",
        "transformer_skyreels_v2.SkyReelsV2AttnProcessor",
        "transformer_sana_video.SanaLinearAttnProcessor3_0",
    ):
        add(
            "pairs",
            f"{transformers}.{path}.__call__.apply_rotary_emb",
            lambda d: ((_bsnd(d), *(t[None, :, None] for t in _tables(d))), {}),
        )
    add(
        "pairs",
        f"{transformers}.transformer_helios.apply_rotary_emb_transposed",
        lambda d: (
            (_bsnd(d), torch.cat(d.tables(BATCH * LENGTH, WIDTH), -1).view(BATCH, LENGTH, -1)),
            {},
        ),
    )
    add(
        "even and odd",
        "diffusers.models.attention_processor.MochiAttnProcessor2_0.__call__.apply_rotary_emb",
        lambda d: (
            (_bsnd(d), *(t.view(LENGTH, HEADS, HALF) for t in d.tables(LENGTH, HEADS * HALF))),
            {},
        ),
    )

    # Over the joined heads, [batch, length, channels].
    for path in (
        "transformer_ltx.apply_rotary_emb",
        "transformer_ltx2.apply_interleaved_rotary_emb",
        "transformer_sana_wm_refiner.apply_interleaved_rotary_emb",
    ):
        add(
            "rank 3",
            f"{transformers}.{path}",
            lambda d: (
                (
                    d.normal(BATCH, LENGTH, WIDTH),
                    tuple(t.view(BATCH, LENGTH, WIDTH) for t in d.tables(BATCH * LENGTH, WIDTH)),
                ),
                {},
            ),
        )
    for module in ("transformer_ltx2", "transformer_sana_wm_refiner"):
        name = f"{transformers}.{module}.apply_split_rotary_emb"
        tables = (BATCH, HEADS, LENGTH, HALF)
        add(
            "rank 4",
            name,
            lambda d, t=tables: (
                (_bnsd(d), tuple(x.view(t) for x in d.tables(BATCH * HEADS, LENGTH * HALF))),
                {},
            ),
        )
        add(
            "rank 3 becomes 4",
            name,
            lambda d, t=tables: (
                (
                    d.normal(BATCH, LENGTH, HEADS * WIDTH),
                    tuple(x.view(t) for x in d.tables(BATCH * HEADS, LENGTH * HALF)),
                ),
                {},
            ),
        )

    # Complex tables.
    for path in (
        "transformers.transformer_z_image.ZSingleStreamAttnProcessor",
        "transformers.transformer_bria_fibo2.BriaFibo2AttnProcessor",
        "controlnets.controlnet_z_image.ZSingleStreamAttnProcessor",
    ):
        add(
            "complex",
            f"diffusers.models.{path}.__call__.apply_rotary_emb",
            lambda d: ((_bsnd(d), d.rotations(BATCH, LENGTH, HALF)), {}),
        )
    for module in ("transformer_anyflow", "transformer_anyflow_far"):
        add(
            "complex double",
            f"{transformers}.{module}.apply_rotary_emb",
            lambda d: ((_bnsd(d), d.rotations(1, 1, LENGTH, HALF).to(torch.complex128)), {}),
        )
    add(
        "complex, width third",
        f"{transformers}.transformer_sana_wm._apply_rotary_emb",
        lambda d: ((_bnsd(d).mT, d.rotations(1, 1, LENGTH, HALF)), {}),
    )
    for label, stride in (("complex, sample by sample", 1), ("complex, sample by sample, every second frame", 2)):
        grids = torch.tensor([[1, 2, 2], [2, 1, 2]])  # of five places, the last of which does not turn
        add(
            label,
            f"{transformers}.transformer_wan_animate_2.rope_apply",
            lambda d, stride=stride: ((_bsnd(d), grids, d.rotations(6, HALF), stride), {}),
        )

    # 2 x 2 matrices.
    for module in ("transformer_kandinsky6", "transformer_kandinsky6_sr"):
        add(
            "matrices",
            f"{transformers}.{module}.apply_rotary",
            lambda d: ((_bsnd(d), _matrices(d, LENGTH, 1, HALF)), {}),
        )
    add(
        "matrices, bfloat16 result",
        f"{transformers}.transformer_kandinsky.Kandinsky5AttnProcessor.__call__.apply_rotary",
        lambda d: ((_bsnd(d), _matrices(d, LENGTH, 1, HALF)), {}),
    )
    add(
        "matrices",
        f"{transformers}.transformer_prx.apply_rope",
        lambda d: ((_bnsd(d), _matrices(d, BATCH, 1, LENGTH, HALF)), {}),
    )
    add(
        "matrices, query and key",
        f"{transformers}.transformer_hidream_image.apply_rope",
        lambda d: ((_bsnd(d), _bsnd(d), _matrices(d, BATCH, LENGTH, 1, HALF)), {}),
    )

    # A part of the width; angles or tables.
    for path in (
        "transformers.transformer_stable_audio3",
        "autoencoders.autoencoder_same",
    ):
        add(
            "angles, half of the width",
            f"diffusers.models.{path}._apply_rotary_partial",
            lambda d: ((_bsnd(d), 3 * d.tables(LENGTH + 2, HALF)[0]), {}),
        )
    add(
        "angles, half of the width",
        f"{transformers}.transformer_ernie_image.ErnieImageSingleStreamAttnProcessor"
        ".__call__.apply_rotary_emb",
        lambda d: ((_bsnd(d), 3 * d.tables(LENGTH, HALF)[0][:, None]), {}),
    )
    add(
        "half of the width",
        f"{transformers}.transformer_minimax_h3._apply_rotary_emb",
        lambda d: ((_bsnd(d), *d.tables(LENGTH, HALF)), {}),
    )
    add(
        "half of the width",
        f"{transformers}.transformer_minimax_music3._apply_partial_rotary_emb",
        lambda d: ((_bsnd(d), d.tables(LENGTH, HALF)), {}),
    )
    add(
        "half of the width, length outermost",
        "diffusers.pipelines.kolors.text_encoder.apply_rotary_pos_emb",
        lambda d: (
            (
                d.normal(LENGTH, BATCH, HEADS, WIDTH),
                torch.stack(d.tables(LENGTH + 1, HALF // 2), -1)[:, None],
            ),
            {},
        ),
    )
    add(
        "halves",
        f"{transformers}.transformer_longcat_audio_dit._apply_rotary_emb",
        lambda d: ((_bsnd(d), _tables(d)), {}),
    )
    add(
        "pairs, query and key",
        f"{transformers}.transformer_joyimage._apply_rotary_emb",
        lambda d: ((_bsnd(d), _bsnd(d), _tables(d)), {}),
    )
    add(
        "pairs, query and key, a table each sample",
        f"{transformers}.transformer_joyimage_edit_plus._apply_rotary_emb_batched",
        lambda d: (
            (
                _bsnd(d),
                _bsnd(d),
                tuple(t.view(BATCH, LENGTH, WIDTH) for t in d.tables(BATCH * LENGTH, WIDTH)),
            ),
            {},
        ),
    )
    add(
        "halves, in the type of the input",
        "diffusers.models.condition_embedders.condition_embedder_anima._apply_rotary_pos_emb",
        lambda d: ((_bnsd(d), *(t[None] for t in _tables(d))), {}),
    )

    # Norms. The inputs are small, so that the epsilon shows.
    def small(draw):
        return (0.03 * draw.normal(BATCH, LENGTH, WIDTH),), {}

    norm = "diffusers.models.normalization.RMSNorm.forward"
    add("weight", norm, small, build=dict(dim=WIDTH, eps=1e-5))
    add("weight and bias", norm, small, build=dict(dim=WIDTH, eps=1e-5, bias=True))
    add("no weight", norm, small, build=dict(dim=WIDTH, eps=1e-5, elementwise_affine=False))
    for dtype in (torch.float32, torch.bfloat16):
        kind = str(dtype).removeprefix("torch.")
        wide = dict(dim=WIDTH, eps=1e-5)
        add(f"{kind} weight", norm, small, build=wide, weight_dtype=dtype)
        add(
            f"{kind} weight and bias", norm, small, build=wide | dict(bias=True), weight_dtype=dtype
        )
    mochi = "diffusers.models.normalization.MochiRMSNorm.forward"
    add("weight", mochi, small, build=dict(dim=WIDTH, eps=1e-5))
    add("float32 weight", mochi, small, build=dict(dim=WIDTH, eps=1e-5), weight_dtype=torch.float32)
    add("no weight", mochi, small, build=dict(dim=WIDTH, eps=1e-5, elementwise_affine=False))
    for path, build in (
        ("t5_film_transformer.T5LayerNorm", dict(hidden_size=WIDTH, eps=1e-5)),
        ("transformer_cosmos3.Cosmos3NemotronRMSNorm", dict(dim=WIDTH, eps=1e-5)),
        ("transformer_qwenimage21.QwenImage21ZeroCenterRMSNorm", dict(dim=WIDTH, eps=1e-5)),
        ("transformer_stable_audio3.StableAudio3RMSNorm", dict(dim=WIDTH, eps=1e-5)),
        ("transformer_krea2.Krea2RMSNorm", dict(dim=WIDTH, eps=1e-5)),
    ):
        name = f"{transformers}.{path}.forward"
        add("weight", name, small, build=build)
        add("float32 weight", name, small, build=build, weight_dtype=torch.float32)
    add(
        "not forced to float32",
        f"{transformers}.transformer_stable_audio3.StableAudio3RMSNorm.forward",
        small,
        build=dict(dim=WIDTH, eps=1e-5, force_fp32=False),
    )
    kolors = "diffusers.pipelines.kolors.text_encoder.RMSNorm.forward"
    add("weight", kolors, small, build=dict(normalized_shape=WIDTH))
    add(
        "float32 weight",
        kolors,
        small,
        build=dict(normalized_shape=WIDTH),
        weight_dtype=torch.float32,
    )
    add("function", "diffusers.pipelines.ltx2.connectors.per_token_rms_norm", small)
    add(
        "channels first",
        "diffusers.models.autoencoders.autoencoder_kl_ltx2.PerChannelRMSNorm.forward",
        small,
        build=dict(eps=1e-5),
    )
    add(
        "expression",
        "diffusers.pipelines.bria_fibo2.pipeline_bria_fibo2.BriaFibo2Pipeline"
        "._get_qwen_prompt_embeds",
        lambda d: ((), dict(states=small(d)[0][0].float(), dtype=d.dtype)),
        assigned="normalized[layer]",
    )
    return calls


CALLS = _calls()


def run(call: Call, seed: int) -> dict[str, Any]:
    """What the definition gives in float32, in bfloat16, and in float32 of the bfloat16 inputs.

    The entry holds "float32", "bfloat16" and "exact": lists of (float64 tensor, name of the type).
    """
    return {
        "float32": _run(call, models.Draw(seed, torch.float32), call.weight_dtype or torch.float32),
        "bfloat16": _run(
            call, models.Draw(seed, torch.bfloat16), call.weight_dtype or torch.bfloat16
        ),
        "exact": _run(call, _RoundedDraw(seed, torch.float32), torch.float32),
    }


class _RoundedDraw(models.Draw):
    """Values of bfloat16 in float32."""

    def normal(self, *shape):
        return super().normal(*shape).bfloat16().float()


def _run(call: Call, draw: models.Draw, weight_dtype: torch.dtype) -> list:
    args, kwargs = call.arguments(draw)
    function = _find(call.definition)
    if call.build is not None:
        owner = inspect.getmodule(function)
        for part in call.definition.removeprefix(owner.__name__ + ".").split(".")[:-1]:
            owner = getattr(owner, part)
        module = owner(**call.build)
        for parameter in module.parameters():
            values = 1 + 0.3 * torch.randn(
                parameter.shape, generator=torch.Generator().manual_seed(1)
            )
            # Values that bfloat16 holds, so that every run has the same weight.
            parameter.data = values.bfloat16().to(weight_dtype)
        function = module.forward
    if call.assigned is not None:
        function = _assigned_expression(function, call.assigned, list(kwargs))
    with torch.no_grad():
        output = function(*args, **kwargs)
    outputs = output if isinstance(output, tuple) else (output,)
    return [(tensor.double(), str(tensor.dtype)) for tensor in outputs]


def _find(definition: str):
    """The function of a qualified name; one nested in another is compiled from its source."""
    parts = definition.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            owner = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        module, path = owner, parts[cut:]
        break
    for depth, part in enumerate(path):
        if not hasattr(owner, part):
            return _compile_nested(module, owner, path[depth:])
        owner = getattr(owner, part)
    return owner


def _compile_nested(module, owner, path: list[str]):
    """The function nested in `owner` at `path`, with the names of its module as globals."""
    source = textwrap.dedent(inspect.getsource(owner))
    node = ast.parse(source).body[0]
    for part in path:
        node = next(
            child
            for child in ast.walk(node)
            if isinstance(child, ast.FunctionDef) and child.name == part and child is not node
        )
    names = dict(vars(module))
    exec(compile(ast.Module([node], []), module.__file__, "exec"), names)
    return names[path[-1]]


def _assigned_expression(function, target: str, parameters: list[str]):
    """The expression that the function assigns to `target`, as a function of its names."""
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == target:
            source = f"lambda {', '.join(parameters)}: {ast.unparse(node.value)}"
            return eval(source, dict(vars(inspect.getmodule(function))))
    raise LookupError(f"{function.__qualname__} assigns nothing to {target}")
