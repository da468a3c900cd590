"""What the name of a parameter says of its value.

Entry points: `role` and `number`. The sizes of one drawn call differ from each other, so that
dimensions that do not belong together do not fit.
"""

from __future__ import annotations

import re

BATCH, HEADS, LENGTH, WIDTH, SIDE, GROUPS = 2, 4, 6, 16, 8, 2
HALF, CHANNELS = WIDTH // 2, HEADS * WIDTH

_SIZES = (
    (r"^b$|^bs$|bsz|batch", BATCH),
    (r"kv_heads|key_value_heads|query_groups|kv_head|num_kv|n_kv|nheads_k", HEADS),
    (r"head_dim|dim_?_?head|d_head|head_size|headdim|channels_per_head|^hd$|^d$|head_width", WIDTH),
    (r"^h$|heads|nhead|n_head", HEADS),
    (r"num_groups|norm_groups|^groups$", GROUPS),
    (r"^(n|s|l|t|seq|seq_?len)$|seq|length|num_tokens|n_tokens|max_position|ctx", LENGTH),
    (r"^w$|^height$|^width$|^img_size|image_size|resolution|grid_size", SIDE),
    (r"num_layers|depth|num_hidden_layers|n_layer|num_blocks|num_experts|n_blocks", 2),
    (r"patch_size|kernel_size|stride|mlp_ratio|expansion|ff_mult|^mult$", 2),
    (r"vocab|num_classes|num_embeddings|n_vocab", 40),
    (r"rotary_dim|rot_dim|rope_dim", WIDTH),
    (
        r"(^|_)dim$|dims?$|^dim_|_dim_?|channels|hidden|^c$|d_model|width|features|embed|planes"
        r"|n_embd|n_state|intermediate|size$",
        CHANNELS,
    ),
)
_FIXED = (
    (r"dropout|drop_path|^drop$|drop_prob|_drop$|^p$|drop_rate|pdrop|label_smooth", 0.0),
    (r"(^|_)eps(ilon)?$", 1e-6),
    (r"theta|(^|_)base$", 10000.0),
    (r"softmax_scale|^scale$|scaling|scale_factor|^alpha$|multiplier", 0.3),
    (r"layer_idx|layer_id|block_idx|layer_number|start_pos|offset|^index$|start_index|idx$", 0),
)
_FLAGS = re.compile(
    r"^(is|use|has|do|no|with|enable|return|apply|upcast|output|add|normalize|qk|qkv|cross)_"
    r"|causal|training|bias$|flash|fused|inplace|affine|residual|gated|cache$"
)
_MASKS = re.compile(r"mask|attn_bias|attention_bias|(^|_)bias$|position_bias")
_TABLES = re.compile(r"(^|_)(cos|sin|cosines?|sines?)(_|$)|^(cos|sin)|rope_(cos|sin)|freqs_(cos|sin)")
_FREQUENCIES = re.compile(r"freqs?|rope|rotary|rotation|pos_emb|position_emb|^pe$|_pe$|pos_cis")
_OBJECTS = re.compile(r"(^|_)(config|cfg|args|opt|attn|module|layer|processor|options|params|hparams)$")
_TENSORS = re.compile(
    r"^(x|xs|q|k|v|t|u|h|y|z|xq|xk|xv|inp|input|inputs|hidden|states|tensor|tokens|src|tgt|target|memory"
    r"|context|feat|features|latents?|gate|img|txt|image|sample)$"
    r"|states$|query|key|value|tensor|embeds?$|latents?$|^[qkvx]_|_[qkvx]$|^[qkvx]\d?$|hidden(?!_?(dim|size))"
    r"|features?$|inputs?$|^x"
)
_NORM_TABLES = re.compile(r"^(weight|gamma|scale|shift|gate|norm_weight)s?$")
_EMBEDDINGS = re.compile(r"^t?emb$|^temb|_temb$|^(time|t)_emb|timestep_emb|^cond(itioning)?$|conditioning|^vec$|^pooled|^modulation$")
_INTEGER_TENSORS = re.compile(r"^timesteps?$|position_ids|input_ids|cu_seqlens|_ids$|_idx$|indices|lengths$|lens$")


def number(name: str):
    """A size or another number that the name calls for; None where it calls for none."""
    low = name.lower()
    for table in (_FIXED, _SIZES):
        for pattern, value in table:
            if re.search(pattern, low):
                return value
    return None


def is_size(name: str) -> bool:
    low = name.lower()
    return not any(re.search(pattern, low) for pattern, _ in _FIXED) and any(
        re.search(pattern, low) for pattern, _ in _SIZES
    )


def role(name: str, annotation: str, default) -> str:
    """tensor, vector, embedding, integers, table, frequencies, mask, flag, number, text, object or callable."""
    low, note = name.lower(), annotation.replace("Optional", "")
    says_tensor = "Tensor" in note
    if not says_tensor:
        plain = note.strip("[]\"' ").partition("|")[0].strip().lower()
        if plain == "bool" or isinstance(default, bool):
            return "flag"
        if plain in ("int", "float"):
            return "number"
        if plain == "str":
            return "text"
        if "callable" in plain:
            return "callable"
        if plain and plain not in ("any", "none", "torch.dtype") and plain[:5] not in ("tuple", "list[", "list"):
            return "object"
    if _INTEGER_TENSORS.search(low):
        return "integers"
    for pattern, what in ((_TABLES, "table"), (_FREQUENCIES, "frequencies"), (_MASKS, "mask")):
        if pattern.search(low):
            return what
    if _NORM_TABLES.search(low) and low not in ("gate",):
        return "vector"
    if _EMBEDDINGS.search(low):
        return "embedding"
    if says_tensor:
        return "tensor"
    if _OBJECTS.search(low):
        return "object"
    if _FLAGS.search(low):
        return "flag"
    if _TENSORS.search(low):
        return "tensor"
    return "tensor" if number(low) is None else "number"
