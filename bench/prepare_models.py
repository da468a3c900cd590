"""Models for prepare_bench.py, with random weights, written out so that the benchmark needs torch alone, and the UNet
and the autoencoder of SDXL where diffusers is installed.

``CASES`` has, by name, a function that takes whether the model is small and gives the model and its inputs: a tensor,
or a dict of keyword arguments.
"""

import importlib.util

import torch
from model_cases import Inputs, sdxl
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name


class Bottleneck(nn.Module):
    """The block of ResNet-50."""

    def __init__(self, channels, width, stride):
        super().__init__()
        out = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)
        self.relu, self.downsample = nn.ReLU(inplace=True), None
        if stride != 1 or channels != out:
            self.downsample = nn.Sequential(nn.Conv2d(channels, out, 1, stride=stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, depths):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(64)
        self.relu, self.pool = nn.ReLU(inplace=True), nn.MaxPool2d(3, stride=2, padding=1)
        blocks, channels = [], 64
        for level, depth in enumerate(depths):
            for index in range(depth):
                blocks.append(Bottleneck(channels, 64 << level, 2 if level and not index else 1))
                channels = 256 << level
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(channels, 1000)

    def forward(self, x):
        x = self.blocks(self.pool(self.relu(self.bn(self.conv(x)))))
        return self.head(x.mean((2, 3)))


class Attention(nn.Module):
    def __init__(self, width, heads, kv_heads, bias, causal):
        super().__init__()
        self.size, self.causal = width // heads, causal
        self.q_proj = nn.Linear(width, width, bias=bias)
        self.k_proj = nn.Linear(width, kv_heads * self.size, bias=bias)
        self.v_proj = nn.Linear(width, kv_heads * self.size, bias=bias)
        self.o_proj, self.dropout = nn.Linear(width, width, bias=bias), nn.Dropout(0.1)

    def forward(self, x):
        linears = self.q_proj, self.k_proj, self.v_proj
        q, k, v = (linear(x).unflatten(-1, (-1, self.size)).transpose(1, 2) for linear in linears)
        grouped = q.shape[1] != k.shape[1]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal and q.shape[2] > 1, enable_gqa=grouped)
        return self.dropout(self.o_proj(y.transpose(1, 2).flatten(2)))


class EncoderLayer(nn.Module):
    """The layer of CLIP's encoders."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads, heads, bias=True, causal=False)
        self.norm2, self.fc1, self.fc2 = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.dropout(self.fc2(F.gelu(self.fc1(self.norm2(x)))))


class DecoderLayer(nn.Module):
    """The layer of Llama, without the rotation of queries and keys."""

    def __init__(self, width, heads, kv_heads, hidden):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention = Attention(width, heads, kv_heads, bias=False, causal=True)
        self.gate_proj, self.up_proj = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        y = self.norm2(x)
        return x + self.down_proj(F.silu(self.gate_proj(y)) * self.up_proj(y))


class Autoencoder(nn.Module):
    """Convolutions with group norms, as the decoder of a latent diffusion model's autoencoder has them."""

    def __init__(self, width):
        super().__init__()
        layers = [nn.Conv2d(4, width, 3, padding=1)]
        for _ in range(3):
            for _ in range(2):
                layers += [nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1), nn.Dropout(0.0)]
            layers += [nn.Upsample(scale_factor=2), nn.Conv2d(width, width, 3, padding=1)]
        self.layers = nn.Sequential(*layers, nn.Conv2d(width, 3, 3, padding=1))

    def forward(self, x):
        return self.layers(x)


class ConvUnit(nn.Module):
    """A convolution, its norm and SiLU, as detectors are made of."""

    def __init__(self, channels, out, size=1, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(channels, out, size, stride, size // 2, bias=False)
        self.bn, self.act = nn.BatchNorm2d(out), nn.SiLU(inplace=True)

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class PartialStage(nn.Module):
    """One half of the channels goes through units of two convolutions, whose results are all handed on."""

    def __init__(self, channels, depth):
        super().__init__()
        half = channels // 2
        self.before, self.after = ConvUnit(channels, channels), ConvUnit((2 + depth) * half, channels)
        self.units = nn.ModuleList(nn.Sequential(ConvUnit(half, half, 3), ConvUnit(half, half, 3)) for _ in range(depth))

    def forward(self, x):
        parts = list(self.before(x).chunk(2, 1))
        for unit in self.units:
            parts.append(parts[-1] + unit(parts[-1]))
        return self.after(torch.cat(parts, 1))


class Detector(nn.Module):
    """A small detector in the manner of YOLO: stages of partial connections, and a head at three scales that gives
    distributions of four edges and the scores of classes."""

    def __init__(self, width, depth, classes=80, bins=16):
        super().__init__()
        widths = [width << level for level in range(5)]
        self.stem = ConvUnit(3, widths[0], 3, 2)
        self.levels = nn.ModuleList(
            nn.Sequential(ConvUnit(before, after, 3, 2), PartialStage(after, depth))
            for before, after in zip(widths, widths[1:], strict=False)
        )
        self.boxes, self.scores = (
            nn.ModuleList(
                nn.Sequential(ConvUnit(w, 64, 3), ConvUnit(64, 64, 3), nn.Conv2d(64, out, 1)) for w in widths[2:]
            )
            for out in (4 * bins, classes)
        )
        self.register_buffer("bins", torch.arange(bins, dtype=torch.get_default_dtype()))

    def forward(self, x):
        x, found = self.stem(x), []
        for at, level in enumerate(self.levels):
            x = level(x)
            if at:
                boxes = self.boxes[at - 1](x).flatten(2).unflatten(1, (4, -1)).softmax(2)
                edges = (boxes * self.bins[:, None]).sum(2)
                found.append(torch.cat([edges, self.scores[at - 1](x).flatten(2).sigmoid()], 1))
        return torch.cat(found, 2)


def with_statistics(model):
    """The model with statistics in its batch norms, as after training."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(std=0.1)
            module.running_var.uniform_(0.5, 2)
    return model


def resnet(small):
    model = ResNet((1, 1, 1, 1) if small else (3, 4, 6, 3))
    return with_statistics(model), torch.randn(1 if small else 8, 3, 224, 224)


def detector(small):
    model = Detector(16, 1) if small else Detector(64, 3)
    return with_statistics(model), torch.randn(1 if small else 8, 3, 160 if small else 640, 160 if small else 640)


def unet(small):
    build, inputs = sdxl(small)
    return build(), inputs(Inputs("cpu", torch.float32))


def vae(small):
    from diffusers import AutoencoderKL

    widths = (32, 64) if small else (128, 256, 512, 512)
    model = AutoencoderKL(
        block_out_channels=widths, layers_per_block=2, latent_channels=4, sample_size=64 if small else 512,
        down_block_types=("DownEncoderBlock2D",) * len(widths), up_block_types=("UpDecoderBlock2D",) * len(widths),
    )  # fmt: skip
    side = 64 if small else 512
    return model, dict(sample=torch.randn(1, 3, side, side), return_dict=False)


def clip(small):
    width, heads, layers = (256, 4, 4) if small else (768, 12, 12)
    model = nn.Sequential(*(EncoderLayer(width, heads) for _ in range(layers)))
    return model, torch.randn(1, 50, width)


def decoder(small, tokens):
    width, heads, kv_heads, hidden, layers = (256, 8, 2, 704, 4) if small else (2048, 32, 8, 8192, 16)
    model = nn.Sequential(*(DecoderLayer(width, heads, kv_heads, hidden) for _ in range(layers)))
    return model, torch.randn(1, tokens, width)


def autoencoder(small):
    return Autoencoder(64 if small else 256), torch.randn(1, 4, 16 if small else 64, 16 if small else 64)


CASES = {
    "resnet": resnet,
    "clip": clip,
    "decoder, 1 token": lambda small: decoder(small, 1),
    "decoder, 512 tokens": lambda small: decoder(small, 64 if small else 512),
    "autoencoder": autoencoder,
    "detector": detector,
}
if importlib.util.find_spec("diffusers") is not None:
    CASES |= {"SDXL's UNet": unet, "SDXL's autoencoder": vae}
