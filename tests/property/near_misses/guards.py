"""Softmax guards, and what looks like one."""
# ruff: noqa

import torch
import torch.nn.functional as F


def shift_dim(x, w):
    s = x - x.amax(-1, keepdim=True)
    return s.softmax(1)


def shift_ok(x, w):
    s = x - x.amax(-1, keepdim=True)
    return s.softmax(-1)


def shift_nokeep(x, w):
    s = x.transpose(0, -1) - x.transpose(0, -1).amax(1, keepdim=True)
    return s.softmax(-1)


def shift_max_tuple(x, w):
    s = x - x.max(-1, keepdim=True)[0]
    return F.softmax(s, dim=-1)


def shift_max_idx(x, w):
    s = x - x.max(-1, keepdim=True)[1]
    return F.softmax(s, dim=-1)


def shift_min(x, w):
    s = x - x.amin(-1, keepdim=True)
    return F.softmax(s, dim=-1)


def shift_other(x, w):
    s = x - (x * 2).amax(1, keepdim=True)
    return F.softmax(s, dim=-1)


def shift_transposed(x, w):
    s = x - x.amax(-1, keepdim=True)
    return s.transpose(1, 2).softmax(-1)


def shift_transposed_both(x, w):
    s = x - x.amax(-1, keepdim=True)
    return s.transpose(1, 2).softmax(1)


def shift_scaled(x, w):
    s = (x - x.amax(-1, keepdim=True)) * 0.5
    return s.softmax(-1)


def shift_global(x, w):
    s = x - x.max()
    return s.softmax(1)


def shift_clamp(x, w):
    s = (x - x.amax(-1, keepdim=True)).clamp(min=-1)
    return s.softmax(-1)


def clamp_shift(x, w):
    s = x.clamp(max=0.5)
    s = s - s.amax(-1, keepdim=True)
    return s.softmax(-1)


def clamp_axis(x, w):
    s = x.clamp(min=-0.5)
    return s.softmax(1)


def clamp_both(x, w):
    s = x.clamp(-0.5, 0.3)
    return s.softmax(2)


def clamp_mask(x, w):
    s = x.clamp(min=-0.5)
    s = s + torch.where(w > 0, 0.0, float("-inf"))
    return s.softmax(-1)


def mask_clamp(x, w):
    s = x + torch.where(w > 0, 0.0, float("-inf"))
    s = s.clamp(min=-0.5)
    return s.softmax(-1)


def mask_shift(x, w):
    s = x + torch.where(w > 0, 0.0, -1e4)
    s = s - s.amax(-1, keepdim=True)
    return s.softmax(-1)


def fill_clamp(x, w):
    s = x.clamp(min=-0.5).masked_fill(w > 0, -1.0)
    return s.softmax(-1)


def fill_clamp_inf(x, w):
    s = x.clamp(min=-0.5).masked_fill(w > 0, float("-inf"))
    return s.softmax(-1)


def clamp_tensor(x, w):
    s = x.clamp(min=w)
    return s.softmax(-1)


def clamp_max_read(x, w):
    m = x.amax(-1, keepdim=True)
    return (x - m).softmax(-1) * m


def shift_inplace(x, w):
    m = x.amax(-1, keepdim=True)
    x -= m
    return x.softmax(-1) + x.sum()


def shift_alias(x, w):
    z = x
    x = x - x.amax(-1, keepdim=True)
    z += 1
    return x.softmax(-1)


def shift_dim_param(x, w):
    d = 1 if w.sum() > 100 else -1
    s = x - x.amax(d, keepdim=True)
    return s.softmax(d)


def shift_dim_changes(x, w):
    d = 1
    s = x - x.amax(d, keepdim=True)
    d = 2
    return s.softmax(d)


def clamp_int(x, w):
    s = (x * 3).int().clamp(min=-1)
    return s.softmax(-1, dtype=torch.float32)


def exp_hand(x, w):
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def exp_hand_dim(x, w):
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(1, keepdim=True)


def log_soft(x, w):
    s = x - x.amax(-1, keepdim=True)
    return F.log_softmax(s, -1)


def nan_guard(x, w):
    s = x.clamp(min=-0.5)
    s[..., 0] = float("nan")
    return s.softmax(-1)


def clamp_then_write(x, w):
    s = x.clamp(min=-0.5)
    s[..., 0] = 3
    return s.softmax(-1)


def shift_write(x, w):
    s = x - x.max()
    s[..., 0] = 3
    return s.softmax(-1)


def stack_dim(x, w):
    s = torch.stack([x, x * 2])
    s = s - s.amax(0, keepdim=True)
    return s.softmax(dim=0)
