"""Multistep schedulers that keep earlier predictions."""

import mindiesd.ext
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
            noise = mindiesd.ext.weighted_sum(
                [self.ets[-1], self.ets[-2], self.ets[-3]],
                [23, -16, 5],
                divisor=12,
            )
        else:
            # Adams and Bashforth, of order four.
            noise = mindiesd.ext.weighted_sum(
                [self.ets[-1], self.ets[-2], self.ets[-3], self.ets[-4]],
                [55, -59, 37, -9],
                scale=1 / 24,
            )
        return sample - 0.1 * noise

    def blend(self, sample, noise, image):
        kept = self.alpha * sample
        mixed = kept - torch.mul(noise, 0.5)
        mixed = mixed + (1.0 - self.alpha) * image
        return mixed


def gray(image):
    return mindiesd.ext.weighted_sum([image[:, 0:1], image[:, 1:2], image[:, 2:3]], [0.299, 0.587, 0.114])


def fifth(a, b, c, d, e):
    return mindiesd.ext.weighted_sum([a, b, c, d, e], [1901, -2774, 2616, -1274, 251], scale=1 / 720)


def more(a, b, c, d, e, f):
    return mindiesd.ext.weighted_sum([a, b, c, d, e], [0.1, 0.2, 0.3, 0.4, 0.5]) + 0.6 * f


def offset(a, b, c):
    return mindiesd.ext.weighted_sum([a, b, c], [0.5, 0.25, 0.125]) + 1.0


def guided(model, sample, factor=7.5):
    uncond, cond, weak = model(sample).chunk(3)
    return mindiesd.ext.weighted_sum([uncond, cond, weak], [(1.0 - factor), factor, 0.5])
