"""What bench/kernels_bench.py measures of convolutional networks' norms, and of linear layers with their
activation. Entry point: image_cases."""

import torch
import torch.nn.functional as F
from kernel_cases import Case, rand

LAST = torch.channels_last


def image_cases(launchers):
    def group_norm(shape, silu=True, last=False, dtype=torch.bfloat16):
        layout = LAST if last else torch.contiguous_format

        def make():
            x = rand(*shape, dtype=dtype).contiguous(memory_format=layout)
            return {
                "x": x, "weight": rand(shape[1], dtype=dtype), "bias": rand(shape[1], dtype=dtype),
                "out": torch.empty_like(x),
            }  # fmt: skip

        def lines(t):
            y = F.group_norm(t["x"], 32, t["weight"], t["bias"], 1e-6)
            return F.silu(y) if silu else y

        return Case(
            f"group_norm{', silu' * silu}{', channels last' * last}", f"{list(shape)}", make,
            lambda t: launchers.group_norm(t["x"], t["out"], 32, t["weight"], t["bias"], 1e-6, silu=silu),
            lines,
        )  # fmt: skip

    def upsample(shape, last=False, dtype=torch.bfloat16):
        layout = LAST if last else torch.contiguous_format

        def make():
            x = rand(*shape, dtype=dtype).contiguous(memory_format=layout)
            out = x.new_empty(*shape[:2], 2 * shape[2], 2 * shape[3]).contiguous(memory_format=layout)
            return {"x": x, "out": out}

        return Case(
            f"upsample{', channels last' * last}", f"{list(shape)}", make,
            lambda t: launchers.upsample(t["x"], t["out"]),
            lambda t: F.interpolate(t["x"], scale_factor=2.0, mode="nearest"),
        )  # fmt: skip

    def linear(rows, inputs, outputs, beside=0):
        """``beside``: columns of the wider tensor that the result is a part of."""

        def make():
            t = {"x": rand(rows, inputs), "weight": rand(outputs, inputs) / inputs**0.5, "bias": rand(outputs)}
            return t | {"out": rand(rows, outputs + beside)}

        def lines(t):
            return F.gelu(F.linear(t["x"], t["weight"], t["bias"]), approximate="tanh")

        return Case(
            f"linear, gelu{', into a slice' * bool(beside)}", f"{rows} {inputs} {outputs}", make,
            lambda t: launchers.linear_activation(t["x"], t["weight"], t["bias"], t["out"][:, beside:]),
            lines,
        )  # fmt: skip

    # SDXL's UNet and VAE decoder, batch 2 and 1.
    for shape in (
        (2, 320, 128, 128), (2, 640, 64, 64), (2, 1280, 32, 32), (2, 1920, 64, 64), (1, 512, 128, 128),
        (1, 512, 512, 512), (1, 256, 1024, 1024), (1, 128, 1024, 1024),
    ):  # fmt: skip
        for last in (False, True):
            yield group_norm(shape, last=last)
    yield group_norm((2, 320, 128, 128), silu=False)
    yield group_norm((1, 128, 1024, 1024), dtype=torch.float32)
    yield group_norm((1, 512, 16384), silu=False)
    for shape in ((2, 1280, 32, 32), (2, 640, 64, 64), (1, 512, 256, 256), (1, 512, 512, 512)):
        for last in (False, True):
            yield upsample(shape, last=last)
    yield upsample((1, 512, 256, 256), dtype=torch.float32)
    yield linear(4608, 3072, 12288)  # Flux
    yield linear(4608, 3072, 12288, beside=3072)
    yield linear(512, 3072, 12288)
    yield linear(32760, 5120, 13824)  # Wan
    yield linear(17776, 3072, 12288)  # CogVideoX
    yield linear(16, 3072, 12288)
