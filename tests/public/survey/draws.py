"""Random values for parameters and free names, by what their names say.

Entry points: `Draw` and `Mock`. B, N, S, D below: batch 2, heads 3, length 5, width of a head 16.
"""

import re

import torch

BATCH, HEADS, LENGTH, WIDTH = 2, 3, 5, 16
HALF = WIDTH // 2
CHANNELS = HEADS * WIDTH

# Shapes that the tensors of one call may have, tried one after the other.
LAYOUTS = {
    "BNSD": (BATCH, HEADS, LENGTH, WIDTH),
    "BSND": (BATCH, LENGTH, HEADS, WIDTH),
    "BSC": (BATCH, LENGTH, CHANNELS),
    "SND": (LENGTH, HEADS, WIDTH),
    "SBND": (LENGTH, BATCH, HEADS, WIDTH),
    "BCHW": (BATCH, CHANNELS, 4, 4),
    "BCTHW": (BATCH, CHANNELS, 2, 4, 4),
    "BSD": (BATCH, LENGTH, WIDTH),
}

# Shapes of tables of cosines, sines, angles; the last dimension is W, H or both.
TABLES = (
    (BATCH, LENGTH, WIDTH), (LENGTH, WIDTH), (1, LENGTH, WIDTH), (1, 1, LENGTH, WIDTH),
    (1, LENGTH, 1, WIDTH), (LENGTH, 1, WIDTH), (BATCH, 1, LENGTH, WIDTH), (BATCH, LENGTH, 1, WIDTH),
    (BATCH, LENGTH, HALF), (LENGTH, HALF), (1, LENGTH, HALF), (1, 1, LENGTH, HALF),
    (1, LENGTH, 1, HALF), (LENGTH, 1, HALF), (BATCH, 1, LENGTH, HALF), (BATCH, LENGTH, 1, HALF),
    (BATCH, HEADS, LENGTH, HALF), (LENGTH, HEADS, HALF), (BATCH, LENGTH, CHANNELS),
    (LENGTH, HALF // 2), (BATCH, LENGTH, HALF // 2),
)  # fmt: skip

INTEGERS = (
    (r"batch|bsz|^bs$|^b$|^B$|^n_batch", BATCH),
    (r"head_dim|dim_head|head_size|^d$|^hd$|d_head|attention_head_dim", WIDTH),
    (r"heads|^h$|n_head|num_key_value|nheads", HEADS),
    (r"seq|length|^s$|^l$|^L$|^N$|^S$|^T$|^t$|tokens|^n$", LENGTH),
    (r"^height$|^width$|^H$|^W$|^w$", 4),
    (r"inner_dim|channels|^c$|^C$|embed_dim|hidden_size|^dim$|width|query_dim|norm_dim", CHANNELS),
)
NORMS = re.compile(r"norm|^ln_?\d?$|^ln_")
MASKS = re.compile(r"mask|bias$|attn_bias|block_mask")
TABLE_NAMES = re.compile(r"(^|_)(cos|sin|cosine|sine)(_|$)|freqs?_(cos|sin)|^(cos|sin)")
FREQUENCIES = re.compile(r"freqs?|rope|rotary|pos_emb|^emb|pe$|position_emb|position_embeddings")
FLAGS = re.compile(
    r"^is_|^use_|causal|training|flash|fused|upcast|enable|inplace|^return_|residual|affine$"
)
TENSORS = re.compile(
    r"^(x|xs|q|k|v|t|xq|xk|xv|query|key|value|tensor|tokens|input|inputs|hidden|states|hidden_states"
    r"|x_in|u|h|gate)$|states|query|key|value|hidden(?!_?(dim|size))|tensor"
    r"|^[qkvx]_|_[qkvx]$|embeds?$|^[qkvx]\d?$|latent"
)


class AnyNorm(torch.nn.LayerNorm):
    """A layer norm over the last dimension, whatever its size."""

    def forward(self, input):
        return torch.nn.functional.layer_norm(input, input.shape[-1:], eps=self.eps)


class Mock:
    """An object whose attributes are numbers by their names, and whose modules change nothing."""

    KNOWN = {
        "training": False, "p": 0.0, "_parallel_config": None, "_attention_backend": None,
        "scale": 0.3, "softmax_scale": 0.3, "scaling": 0.3, "eps": 1e-6, "norm_eps": 1e-6,
        "rms_norm_eps": 1e-6, "layer_norm_eps": 1e-6, "dropout": 0.0, "dropout_p": 0.0,
        "residual_connection": False, "rescale_output_factor": 1.0, "window_size": (-1, -1),
        "dtype": torch.float32, "spatial_norm": None, "group_norm": None, "norm_cross": False,
    }  # fmt: skip

    def __init__(self, **known):
        self.__dict__.update(known)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = self.KNOWN[name] if name in self.KNOWN else number(name)
        if value is None and name not in self.KNOWN and NORMS.search(name):
            value = AnyNorm(1)
        elif value is None and name not in self.KNOWN:
            value = False if FLAGS.search(name) else Mock()
        self.__dict__[name] = value
        return value

    def __call__(self, *args, **kwargs):
        for value in (*args, *kwargs.values()):
            if isinstance(value, torch.Tensor):
                return value
        return self

    def get(self, name, default=None):
        return default


def number(name: str) -> int | None:
    for pattern, value in INTEGERS:
        if re.search(pattern, name):
            return value
    return None


class Draw:
    """Values from one seed. kinds: the types of tensors and of tables."""

    def __init__(self, seed: int, tensor: torch.dtype, table: torch.dtype):
        self._generator = torch.Generator().manual_seed(seed)
        self.tensor_type, self.table_type = tensor, table

    def normal(self, shape, dtype=None) -> torch.Tensor:
        drawn = torch.randn(shape, generator=self._generator, dtype=torch.float64)
        return drawn.to(dtype or self.tensor_type)

    def table(self, shape) -> torch.Tensor:
        return self.normal(shape, self.table_type)

    def frequencies(self, kind: str, shape):
        """A pair of tables, complex rotations, angles, 2x2 matrices or stacked pairs."""
        if kind == "pair":
            return self.table(shape), self.table(shape)
        if kind == "complex":
            parts = self.normal((*shape, 2), torch.float32)
            return torch.view_as_complex(parts)
        if kind == "angles":
            return self.table(shape)
        if kind == "matrices":
            return self.table((*shape, 2, 2))
        return self.table((*shape, 2))

    def mask(self, kind: str | None, shape):
        if kind is None:
            return None
        if kind == "bool":
            kept = torch.rand(shape, generator=self._generator) > 0.3
            kept[..., 0] = True
            return kept
        return self.normal(shape)
