"""Helpers of a command line: torch is imported where it is needed."""
import argparse
import os


def attend(q, k, v):
    from math import sqrt

    import mindiesd.ext
    import numpy as np
    import torch

    scale = 1 / sqrt(q.shape[-1])
    q, k, v = (torch.as_tensor(np.asarray(x)) for x in (q, k, v))
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        scale=scale,
        head_first=True,
    ).transpose(1, 2)


def gelu(x, exact):
    import mindiesd.ext

    def tanh():
        return mindiesd.ext.gelu(x, approximate="tanh")

    return mindiesd.ext.gelu(x) if exact else tanh()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", default="1")
    os.environ["OMP_NUM_THREADS"] = parser.parse_args().threads
    if os.environ["OMP_NUM_THREADS"]:
        import mindiesd.ext
        import torch.nn.functional

        print(mindiesd.ext.silu(torch.ones(3)))
    else:
        import mindiesd.ext
        import torch

        print(mindiesd.ext.gelu(torch.ones(3)))
