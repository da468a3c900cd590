"""What bench/kernels_bench.py measures: each operation's operands, our call, torch's and the lines to
compile. Entry points: norm_cases, rotary_cases, softmax_cases, activation_cases, sweep_cases; each takes the
module bench/launchers.py and yields cases.
"""

import math
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F

BF16 = torch.bfloat16


@dataclass
class Case:
    group: str
    shape: str
    make: object  # () -> dict of tensors
    ours: object  # (tensors) -> None; results are in tensors
    lines: object  # (tensors) -> results; what torch.compile compiles
    torch: object = None  # the best torch functions, where not the lines themselves
    outputs: tuple = ("out",)  # tensors that are written and not read
    both: tuple = ()  # tensors that are read and written
    fields: dict = field(default_factory=dict)

    def traffic(self, tensors):
        total = 0
        for name, tensor in tensors.items():
            # A stride of 0 repeats what is in memory once.
            sizes = [s for s, st in zip(tensor.shape, tensor.stride(), strict=True) if st != 0]
            once = math.prod(sizes) * tensor.element_size()
            total += 2 * once if name in self.both else once
        return total


def rand(*shape, dtype=BF16):
    return torch.randn(shape, device="cuda", dtype=dtype)


def norm_cases(launchers):
    def rms(shape, group, dtype=BF16, weight=None):
        width = shape[-1]

        def make():
            x = rand(*shape, dtype=dtype)
            return {"x": x, "weight": rand(width, dtype=weight or dtype), "out": torch.empty_like(x)}

        def lines(t):
            x = t["x"].float()
            y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
            return (y * t["weight"].float()).to(t["x"].dtype)

        return Case(
            group, f"{list(shape)}", make,
            lambda t: launchers.rms_norm(t["x"], t["out"], t["weight"]), lines,
            lambda t: F.rms_norm(t["x"], (width,), t["weight"].to(dtype), 1e-6),
        )  # fmt: skip

    yield rms((1, 4608, 24, 128), "rms_norm")
    yield rms((8192, 4096), "rms_norm")
    yield rms((8192, 4096), "rms_norm float32", torch.float32)
    yield rms((1, 32760, 5120), "rms_norm")
    yield rms((1, 32760, 40, 128), "rms_norm")
    yield rms((8192, 16384), "rms_norm")
    yield rms((1, 32760, 5120), "rms_norm, float32 weight", weight=torch.float32)

    def add(shape):
        width = shape[-1]

        def make():
            x = rand(*shape)
            return {
                "x": x, "branch": rand(*shape), "weight": rand(width), "sum": torch.empty_like(x),
                "out": torch.empty_like(x),
            }  # fmt: skip

        def lines(t):
            total = t["x"] + t["branch"]
            return total, F.rms_norm(total, (width,), t["weight"], 1e-6)

        return Case(
            "add + rms_norm", f"{list(shape)}", make,
            lambda t: launchers.fused_norm(
                t["x"], t["out"], kind="rms", branch=t["branch"], sum=t["sum"], weight=t["weight"],
                eps=1e-6,
            ),
            lines,
        )  # fmt: skip

    yield add((4608, 3072))
    yield add((8192, 4096))
    yield add((16384, 8192))

    def layer(shape, dtype=BF16):
        width = shape[-1]

        def make():
            x = rand(*shape, dtype=dtype)
            return {
                "x": x, "weight": rand(width, dtype=dtype), "bias": rand(width, dtype=dtype),
                "out": torch.empty_like(x),
            }  # fmt: skip

        def lines(t):
            return F.layer_norm(t["x"], (width,), t["weight"], t["bias"], 1e-5)

        return Case(
            "layer_norm", f"{list(shape)}", make,
            lambda t: launchers.fused_norm(t["x"], t["out"], weight=t["weight"], bias=t["bias"]),
            lines,
        )  # fmt: skip

    yield layer((2, 4096, 1152))
    yield layer((8192, 4096))
    yield layer((1, 32760, 5120))

    def modulated(shape, per_token=False, columns=False):
        width = shape[-1]
        lead = shape[:-1] if per_token else (shape[0], 1)

        def make():
            # As a convolution over patches leaves it: conv(x).flatten(2).transpose(1, 2).
            x = rand(shape[0], width, shape[1]).transpose(1, 2) if columns else rand(*shape)
            return {
                "x": x, "scale": rand(*lead, width), "shift": rand(*lead, width),
                "out": torch.empty(shape, device=x.device, dtype=x.dtype),
            }  # fmt: skip

        def lines(t):
            return F.layer_norm(t["x"], (width,)) * (1 + t["scale"]) + t["shift"]

        return Case(
            "layer_norm scale shift" + (" per token" if per_token else "") + (" of columns" if columns else ""),
            f"{list(shape)}", make,
            lambda t: launchers.fused_norm(t["x"], t["out"], scale=t["scale"], shift=t["shift"]),
            lines,
        )  # fmt: skip

    yield modulated((1, 4608, 3072))
    yield modulated((2, 4250, 1536))
    yield modulated((1, 32760, 5120))
    yield modulated((1, 32760, 5120), per_token=True)
    yield modulated((1, 18000, 3072), columns=True)
    yield modulated((2, 4096, 1152), columns=True)

    def modulated_as_wan(shape):
        """Modulation in float32, the norm of float32."""
        width = shape[-1]

        def make():
            x = rand(*shape)
            lead = (shape[0], 1, width)
            scale, shift = (rand(*lead, dtype=torch.float32) for _ in range(2))
            return {"x": x, "scale": scale, "shift": shift, "out": torch.empty_like(x)}

        def lines(t):
            y = F.layer_norm(t["x"].float(), (width,), eps=1e-6)
            return (y * (1 + t["scale"]) + t["shift"]).type_as(t["x"])

        return Case(
            "layer_norm scale shift as Wan's", f"{list(shape)}", make,
            lambda t: launchers.fused_norm(
                t["x"], t["out"], scale=t["scale"], shift=t["shift"], eps=1e-6
            ),
            lines,
        )  # fmt: skip

    yield modulated_as_wan((1, 32760, 5120))
    yield modulated_as_wan((1, 32760, 1536))
    yield modulated_as_wan((1, 4608, 3072))

    def block(shape, wan=False):
        width = shape[-1]
        kind = torch.float32 if wan else BF16

        def make():
            x = rand(*shape)
            # As models have them: parts of one projection of the time.
            gate, scale, shift = rand(shape[0], 6, width, dtype=kind).chunk(6, 1)[2:5]
            return {
                "x": x, "branch": rand(*shape), "gate": gate, "scale": scale, "shift": shift,
                "sum": torch.empty_like(x), "out": torch.empty_like(x),
            }  # fmt: skip

        def wans(t):
            total = (t["x"].float() + t["branch"] * t["gate"]).type_as(t["x"])
            y = F.layer_norm(total.float(), (width,), eps=1e-6)
            return total, (y * (1 + t["scale"]) + t["shift"]).type_as(total)

        def lines(t):
            total = t["x"] + t["gate"] * t["branch"]
            y = F.layer_norm(total, (width,), eps=1e-6) * (1 + t["scale"]) + t["shift"]
            return total, y

        return Case(
            "x + gate y, norm, scale, shift" + (" as Wan's" if wan else ""), f"{list(shape)}", make,
            lambda t: launchers.fused_norm(
                t["x"], t["out"], branch=t["branch"], gate=t["gate"], sum=t["sum"],
                scale=t["scale"], shift=t["shift"], eps=1e-6,
            ),
            wans if wan else lines,
        )  # fmt: skip

    yield block((1, 4608, 3072))
    yield block((2, 4250, 1536))
    yield block((2, 4250, 2432))
    yield block((1, 17776, 3072))
    yield block((1, 8192, 4096))
    yield block((1, 32760, 5120))
    yield block((1, 32760, 5120), wan=True)
    yield block((1, 32760, 1536), wan=True)
    yield block((1, 4608, 3072), wan=True)


def rotate_neighbours(x, cos, sin):
    a, b = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    turned = torch.stack((-b, a), -1).flatten(-2)
    return (x.float() * cos + turned * sin).to(x.dtype)


def rotate_halves(x, cos, sin):
    a, b = x.float().chunk(2, -1)
    return (x.float() * cos + torch.cat((-b, a), -1) * sin).to(x.dtype)


def rotary_cases(launchers):
    def table(length, width):
        angle = torch.rand(length, 1, width // 2, device="cuda") * 6.28
        return angle.repeat_interleave(2, -1).cos(), angle.repeat_interleave(2, -1).sin()

    def of_tables(dtype):
        return "" if dtype == torch.float32 else f", {str(dtype)[6:]} tables"

    def one(shape, form, pair=False, tables=torch.float32):
        length, width = shape[1], shape[-1]

        def make():
            t = {"x": rand(*shape), "cos": None, "sin": None}
            t["cos"], t["sin"] = (part.to(tables) for part in table(length, width))
            if form == "complex":
                t["cos"] = torch.polar(
                    torch.ones(length, 1, width // 2, device="cuda"),
                    torch.rand(length, 1, width // 2, device="cuda"),
                )
                del t["sin"]
            elif form == "matrix":
                t["cos"] = torch.randn(length, 1, width // 2, 2, 2, device="cuda")
                del t["sin"]
            t["out"] = torch.empty_like(t["x"])
            if pair:
                t["y"], t["out_y"] = rand(*shape), torch.empty_like(t["x"])
            return t

        def turn(x, t):
            if form == "halves":
                return rotate_halves(x, t["cos"], t["sin"])
            if form == "neighbours":
                return rotate_neighbours(x, t["cos"], t["sin"])
            if form == "complex":
                z = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
                return torch.view_as_real(z * t["cos"]).flatten(-2).to(x.dtype)
            p = x.float().unflatten(-1, (-1, 1, 2))
            out = t["cos"][..., 0] * p[..., 0] + t["cos"][..., 1] * p[..., 1]
            return out.flatten(-2).to(x.dtype)

        def lines(t):
            return (turn(t["x"], t), turn(t["y"], t)) if pair else turn(t["x"], t)

        def ours(t):
            names = ("x", "y") if pair else ("x",)
            outs = ("out", "out_y") if pair else ("out",)
            launchers.rotary(
                [t[n] for n in names], [t[n] for n in outs], t["cos"], t.get("sin"),
                interleaved=form != "halves",
            )  # fmt: skip

        return Case(
            f"rotary {form}{', q and k' if pair else ''}{of_tables(tables)}", f"{list(shape)}", make,
            ours, lines,
        )

    for shape in ((1, 4608, 24, 128), (1, 32760, 40, 128)):
        yield one(shape, "neighbours")
        yield one(shape, "halves")
        yield one(shape, "complex")
        yield one(shape, "matrix")
    yield one((1, 4608, 24, 128), "neighbours", pair=True)
    yield one((2, 4096, 16, 72), "halves")
    yield one((16, 4096, 16, 72), "halves")
    yield one((2, 4096, 16, 80), "halves", tables=BF16)
    yield one((2, 4096, 16, 96), "halves", pair=True, tables=BF16)

    def normed(shape, form, heads, key_heads=None, tables=torch.float32):
        length, count, width = shape[1:]

        def make():
            q, k = rand(*shape), rand(shape[0], length, key_heads or count, width)
            cos, sin = (part.to(tables) for part in table(length, width))
            size = count * width if heads else width
            t = {"q": q, "k": k, "qw": rand(size), "kw": rand(size), "cos": cos, "sin": sin}
            if form == "complex":
                t["cos"] = torch.polar(torch.ones_like(cos[..., ::2]), torch.rand_like(cos[..., ::2]))
                del t["sin"]
            return {**t, "q_out": torch.empty_like(q), "k_out": torch.empty_like(k)}

        def normalise(x, weight):
            if heads:
                return F.rms_norm(x.flatten(-2), (size_of(weight),), weight, 1e-6).view(x.shape)
            return F.rms_norm(x, (width,), weight, 1e-6)

        def size_of(weight):
            return weight.shape[0]

        def turn(x, t):
            if form == "complex":
                z = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
                return torch.view_as_real(z * t["cos"]).flatten(-2).to(x.dtype)
            rotate = rotate_halves if form == "halves" else rotate_neighbours
            return rotate(x, t["cos"], t["sin"])

        def lines(t):
            return turn(normalise(t["q"], t["qw"]), t), turn(normalise(t["k"], t["kw"]), t)

        def ours(t):
            launchers.rotary(
                (t["q"], t["k"]), (t["q_out"], t["k_out"]), t["cos"], t.get("sin"),
                interleaved=form != "halves", norm="heads" if heads else "row",
                weights=(t["qw"], t["kw"]),
            )  # fmt: skip

        where = "over heads" if heads else "per head"
        told = f" and {key_heads}" if key_heads else ""
        return Case(
            f"qk norm {where} + rotary {form}{of_tables(tables)}", f"{list(shape)}{told}", make, ours,
            lines,
        )  # fmt: skip

    yield normed((1, 4608, 24, 128), "neighbours", False)
    yield normed((1, 4608, 24, 128), "halves", False)
    yield normed((2, 4096, 16, 72), "halves", False)
    yield normed((2, 4096, 16, 80), "halves", False)
    yield normed((16, 4096, 16, 72), "halves", False)
    yield normed((2, 4096, 16, 72), "neighbours", False)
    yield normed((2, 4096, 16, 96), "halves", False)
    yield normed((16, 4096, 16, 96), "halves", False)
    yield normed((2, 4096, 16, 72), "halves", False, tables=BF16)
    yield normed((16, 4096, 16, 72), "halves", False, tables=BF16)
    yield normed((2, 4096, 16, 96), "halves", False, tables=BF16)
    yield normed((2, 4096, 16, 72), "neighbours", False, tables=BF16)
    yield normed((2, 4096, 16, 72), "halves", False, 4)
    yield normed((16, 4096, 16, 72), "halves", False, 4)
    yield normed((2, 4096, 32, 72), "complex", False, 8)
    yield normed((2, 4096, 24, 96), "complex", False, 8)
    yield normed((8, 4096, 24, 96), "complex", False, 8)
    yield normed((1, 1024, 16, 72), "halves", False)
    for length in (1, 16, 64):
        for width in (64, 72, 80, 96, 128):
            yield normed((1, length, 16, width), "halves", False)
    yield normed((1, 32760, 40, 128), "halves", False)
    yield normed((1, 16384, 32, 128), "halves", False, 8)
    yield normed((4, 4096, 32, 128), "halves", False, 8)
    yield normed((1, 32760, 40, 128), "neighbours", False)
    yield normed((1, 32760, 40, 128), "neighbours", True)
    yield normed((1, 32760, 40, 128), "complex", True)


def softmax_cases(launchers):
    def plain(shape, dtype=torch.float16):
        def make():
            x = rand(*shape, dtype=dtype)
            return {"x": x, "out": torch.empty_like(x)}

        def lines(t):
            return t["x"].softmax(-1)

        return Case(
            "softmax", f"{list(shape)}", make, lambda t: launchers.softmax(t["x"], t["out"]), lines
        )

    def guarded(shape, dtype=torch.float16):
        def make():
            x = rand(*shape, dtype=dtype)
            return {"x": x, "out": torch.empty_like(x)}

        def lines(t):
            x = t["x"] - t["x"].amax(-1, keepdim=True)
            return x.clamp(min=-50000).clamp(max=50000).softmax(-1)

        return Case(
            "softmax, maximum and two clamps", f"{list(shape)}", make,
            lambda t: launchers.softmax(
                t["x"], t["out"], subtract="row", clamp_min=-50000.0, clamp_max=50000.0
            ),
            lines,
        )  # fmt: skip

    def masked(shape, dtype=torch.float16):
        def make():
            x = rand(*shape, dtype=dtype)
            mask = torch.rand(shape[0], 1, *shape[2:], device="cuda") < 0.8
            return {"x": x, "mask": mask, "out": torch.empty_like(x)}

        def lines(t):
            return (t["x"] * 0.125).masked_fill(~t["mask"], -10000.0).softmax(-1)

        return Case(
            "softmax, scale and boolean mask", f"{list(shape)}", make,
            lambda t: launchers.softmax(
                t["x"], t["out"], scale=0.125, mask=t["mask"], mask_value=-10000.0
            ),
            lines,
        )  # fmt: skip

    yield plain((8, 12, 1024, 1024))
    yield plain((2, 8, 4096, 4096))
    yield guarded((8, 12, 1024, 1024))
    yield guarded((2, 16, 4096, 4096))
    yield guarded((1, 8, 8192, 8192))
    yield guarded((8, 64, 256, 256))
    yield masked((8, 12, 1024, 1024))
    yield masked((2, 16, 4096, 4096))


def activation_cases(launchers):
    torch_of = {
        "gelu": F.gelu,
        "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"),
        "gelu-fast": lambda x: x * torch.sigmoid(1.702 * x),
        "silu": F.silu,
    }

    def plain(shape, kind, dtype=BF16):
        def make():
            x = rand(*shape, dtype=dtype)
            return {"x": x, "out": torch.empty_like(x)}

        return Case(
            f"{kind}" + (" float32" if dtype == torch.float32 else ""), f"{list(shape)}", make,
            lambda t: launchers.activation(t["x"], t["out"], kind), lambda t: torch_of[kind](t["x"]),
        )  # fmt: skip

    def gated(shape, kind):
        def make():
            packed = rand(*shape[:-1], 2 * shape[-1])
            first, second = packed.chunk(2, -1)
            out = torch.empty(shape, device="cuda", dtype=BF16)
            return {"first": first, "second": second, "out": out}

        return Case(
            f"{kind} gated product", f"{list(shape)}", make,
            lambda t: launchers.activation(t["first"], t["out"], kind, t["second"]),
            lambda t: t["first"] * torch_of[kind](t["second"]),
        )  # fmt: skip

    for kind in torch_of:
        yield plain((1, 4608, 3072), kind)
        yield plain((32760, 13824), kind)
    yield plain((16384, 8192), "gelu", torch.float32)
    yield gated((2, 4096, 1536), "gelu")
    yield gated((2, 4096, 5120), "gelu")
    yield gated((2, 4096, 10240), "gelu")
    yield gated((8192, 14336), "silu")


SWEEP_WIDTHS = (
    64, 72, 80, 96, 128, 160, 256, 512, 768, 1024, 1152, 1536, 2048, 3072, 4096, 5120, 8192, 13824,
    16384,
)  # fmt: skip
SWEEP_ROWS = (1, 16, 256, 4096, 65536, 2**20)


def sweep_cases(launchers):
    """Every width by every number of rows that fits: rms_norm and layer_norm, in one cache state."""
    for width in SWEEP_WIDTHS:
        for rows in SWEEP_ROWS:
            if rows * width > 2**31:
                continue

            def make(rows=rows, width=width):
                x = rand(rows, width)
                return {
                    "x": x, "weight": rand(width), "bias": rand(width), "out": torch.empty_like(x),
                }  # fmt: skip

            shape = f"[{rows}, {width}]"
            yield Case(
                "rms_norm", shape, make,
                lambda t: launchers.rms_norm(t["x"], t["out"], t["weight"]),
                lambda t, width=width: F.rms_norm(t["x"], (width,), t["weight"], 1e-6),
            )  # fmt: skip
            yield Case(
                "layer_norm", shape, make,
                lambda t: launchers.fused_norm(t["x"], t["out"], weight=t["weight"], bias=t["bias"]),
                lambda t, width=width: F.layer_norm(t["x"], (width,), t["weight"], t["bias"]),
            )  # fmt: skip
