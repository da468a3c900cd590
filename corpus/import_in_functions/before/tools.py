"""Helpers of a command line: torch is imported where it is needed."""
import argparse
import os


def attend(q, k, v):
    from math import sqrt

    import numpy as np
    import torch
    import torch.nn.functional as F

    scale = 1 / sqrt(q.shape[-1])
    q, k, v = (torch.as_tensor(np.asarray(x)) for x in (q, k, v))
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    return F.scaled_dot_product_attention(q, k, v, scale=scale).transpose(1, 2)


def gelu(x, exact):
    from torch.nn import functional as F

    def tanh():
        return F.gelu(x, approximate="tanh")

    return F.gelu(x) if exact else tanh()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", default="1")
    os.environ["OMP_NUM_THREADS"] = parser.parse_args().threads
    if os.environ["OMP_NUM_THREADS"]:
        import torch.nn.functional

        print(torch.nn.functional.silu(torch.ones(3)))
    else:
        import torch

        print(torch.nn.functional.gelu(torch.ones(3)))
