"""Models for prepare_bench.py, with random weights, written out so that the benchmark needs torch alone.

``CASES`` has, by name, a function that takes whether the model is small and gives the model and its inputs.
"""

import torch
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


def resnet(small):
    model = ResNet((1, 1, 1, 1) if small else (3, 4, 6, 3))
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(std=0.1)
            module.running_var.uniform_(0.5, 2)
    return model, torch.randn(1 if small else 8, 3, 224, 224)


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
}
