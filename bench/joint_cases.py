"""What bench/kernels_bench.py measures of joint attention's operands: norms and rotations of two streams into
one tensor, values copied beside them. Entry point: joint_cases."""

import torch
import torch.nn.functional as F
from kernel_cases import Case, rand, rotate_neighbours


def joint_cases(launchers):
    def joint(lengths, heads, width, rotates):
        """``rotates``: which of the streams."""
        total = sum(lengths)

        def make():
            angle = torch.rand(total, 1, width // 2, device="cuda") * 6.28
            angle = angle.repeat_interleave(2, -1)
            t = {"cos": angle.cos(), "sin": angle.sin()}
            for s, length in enumerate(lengths):
                # As a projection of all three leaves them.
                packed = rand(1, length, 3, heads, width)
                t |= {f"{part}{s}": packed[:, :, i] for i, part in enumerate("qkv")}
                t |= {f"{part}w{s}": rand(width) for part in "qk"}
            return t | {f"{part}_out": rand(1, total, heads, width) for part in "qkv"}

        def tables(t, s):
            return [t[name].split(lengths)[s] for name in ("cos", "sin")]

        def ours(t):
            stretches = []
            for part in "qkv":
                outputs = t[f"{part}_out"].split(lengths, 1)
                for s in range(2):
                    turn = tables(t, s) if rotates[s] and part != "v" else ()
                    more = {} if part == "v" else {"norm": "row", "weight": t[f"{part}w{s}"]}
                    stretches.append(
                        launchers.stretch(
                            t[f"{part}{s}"], outputs[s], *turn, interleaved=True, **more
                        )
                    )
            launchers.joint_heads(stretches)

        def lines(t):
            results = []
            for part in "qkv":
                pieces = [t[f"{part}{s}"] for s in range(2)]
                if part != "v":
                    pieces = [
                        F.rms_norm(x, (width,), t[f"{part}w{s}"], 1e-6) for s, x in enumerate(pieces)
                    ]
                    pieces = [
                        rotate_neighbours(x, *tables(t, s)) if rotates[s] else x
                        for s, x in enumerate(pieces)
                    ]
                results.append(torch.cat(pieces, 1))
            return results

        turned = {(True, True): "both rotate", (True, False): "first rotates", (False, False): "no rotation"}
        return Case(
            f"joint heads, {turned[rotates]}", f"{list(lengths)} {heads} {width}", make, ours, lines,
            outputs=("q_out", "k_out", "v_out"),
        )  # fmt: skip

    yield joint((512, 4096), 24, 128, (True, True))  # Flux
    yield joint((4096, 154), 24, 64, (False, False))  # SD3
    yield joint((32760, 256), 24, 128, (True, False))  # HunyuanVideo
    yield joint((226, 17550), 48, 64, (True, True))
    yield joint((64, 256), 24, 128, (True, True))
