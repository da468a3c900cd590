"""Models of bench/serving_bench.py: encoders of torch's modules, the text encoder of CLIP and the UNet of SDXL, with
random weights, and arguments for a call of each."""

import importlib.util

import torch
from mindiesd.serving import Arguments

DIFFUSERS = importlib.util.find_spec("diffusers") is not None
TRANSFORMERS = importlib.util.find_spec("transformers") is not None


class Block(torch.nn.Module):
    """A transformer's layer, of matrix products, attention, norms and an activation."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(2))
        self.project, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        query, key, value = self.project(self.norms[0](x)).unflatten(-1, (3, self.heads, -1)).unbind(2)
        query, key, value = (t.transpose(1, 2) for t in (query, key, value))
        attended = torch.nn.functional.scaled_dot_product_attention(query, key, value)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norms[1](x))))


def encoder(layers, width):
    return torch.nn.Sequential(*[Block(width, width // 64) for _ in range(layers)])


def clip_text():
    from transformers import CLIPTextConfig, CLIPTextModel

    return CLIPTextModel(CLIPTextConfig())


class Cases:
    """Models on one device in one type; on the CPU with few layers and narrow ones."""

    def __init__(self, device, dtype):
        self.device, self.dtype, self.few = device, dtype, device == "cpu"

    def built(self, build):
        """``build`` with the weights made where and in the type in which they are used."""

        def make():
            before = torch.get_default_dtype()
            torch.set_default_dtype(self.dtype)
            try:
                with torch.device(self.device):
                    return build().eval().requires_grad_(requires_grad=False)
            finally:
                torch.set_default_dtype(before)

        return make

    def normal(self, *shape):
        return torch.randn(shape, device=self.device, dtype=self.dtype)

    def encoder(self, layers, width, batch, tokens):
        if self.few:
            layers, width, tokens = max(layers // 4, 1), max(width // 4, 64), max(tokens // 4, 1)
        return self.built(lambda: encoder(layers, width)), Arguments(self.normal(batch, tokens, width))

    def small(self):
        return self.encoder(6, 512, 1, 64)

    def large(self):
        return self.encoder(24, 2048, 4, 1024)

    def clip(self):
        ids = torch.randint(0, 49000, (1, 77), device=self.device)
        return self.built(clip_text), Arguments(ids)

    def unet(self):
        from model_cases import Inputs, sdxl

        build, inputs = sdxl(self.few)
        return self.built(build), Arguments(**inputs(Inputs(self.device, self.dtype)))

    def pairs(self):
        """Two models that do not depend on each other, by name."""
        return {
            "text and image branch": (self.encoder(12, 1024, 1, 77), self.encoder(12, 1024, 1, 1024)),
            "two text encoders": (self.encoder(12, 768, 1, 77), self.encoder(24, 1280, 1, 77)),
        }

    def models(self):
        """By name a function that gives what builds a model and the arguments of a call; of what is installed."""
        cases = {"small encoder": self.small, "large encoder": self.large}
        if TRANSFORMERS:
            cases["CLIP text encoder"] = self.clip
        if DIFFUSERS:
            cases["SDXL UNet"] = self.unet
        return cases
