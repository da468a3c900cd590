"""Multistep schedulers that keep earlier predictions, and sums without a factor of their own, which stay."""

import torch


class Multistep:
    def __init__(self, alpha=0.25):
        self.ets = []
        self.alpha = 0.25

    def step(self, noise: torch.Tensor, sample: torch.Tensor) -> torch.Tensor:
        self.ets.append(noise)
        if len(self.ets) == 1:
            noise = self.ets[-1]
        elif len(self.ets) == 2:
            noise = (3 * self.ets[-1] - self.ets[-2]) / 2
        elif len(self.ets) == 3:
            noise = (23 * self.ets[-1] - 16 * self.ets[-2] + 5 * self.ets[-3]) / 12
        else:
            # Adams and Bashforth, of order four.
            noise = (1 / 24) * (55 * self.ets[-1] - 59 * self.ets[-2] + 37 * self.ets[-3] - 9 * self.ets[-4])
        return sample - 0.1 * noise

    def blend(self, sample, noise, image):
        kept = self.alpha * sample
        mixed = kept - torch.mul(noise, 0.5)
        mixed = mixed + (1.0 - self.alpha) * image
        return mixed


def gray(image):
    return 0.299 * image[:, 0:1] + 0.587 * image[:, 1:2] + 0.114 * image[:, 2:3]


def fifth(a, b, c, d, e):
    total = 1901 * a - 2774 * b + 2616 * c - 1274 * d + 251 * e
    return total * (1 / 720)


def more(a, b, c, d, e, f):
    return 0.1 * a + 0.2 * b + 0.3 * c + 0.4 * d + 0.5 * e + 0.6 * f


def offset(a, b, c):
    return 0.5 * a + 0.25 * b + 0.125 * c + 1.0


def guided(model, sample, factor=7.5):
    uncond, cond, weak = model(sample).chunk(3)
    return (1.0 - factor) * uncond + factor * cond + 0.5 * weak
