"""Scores that one branch masks, or scales, or lays a bias on: the call has a mask on every branch or on none."""

import mindiesd.ext
import torch
import torch.nn as nn


class Optional(nn.Module):
    def forward(self, q, k, v, mask=None):
        return mindiesd.ext.attention_forward(
            q,
            k,
            v,
            attn_mask=None if mask is None else ~(mask == 0),
            scale=1.0,
            head_first=True,
            strides="BNSD",
        )


class ByAFlag(nn.Module):
    def forward(self, q, k, v, mask, use_mask=False):
        return mindiesd.ext.attention_forward(
            q,
            k,
            v,
            attn_mask=~mask if use_mask else None,
            scale=0.5,
            head_first=True,
            strides="BNSD",
        )


class OfAPart(nn.Module):
    def forward(self, q, k, v, bias=None):
        return mindiesd.ext.attention_forward(
            q,
            k,
            v,
            attn_mask=None if bias is None else bias[None],
            scale=0.5,
            head_first=True,
            strides="BNSD",
        )


class EitherWay(nn.Module):
    def forward(self, q, k, v, mask, added=False):
        scores = q @ k.transpose(-2, -1)
        if added:
            scores = scores + mask
        else:
            scores = scores.masked_fill(mask.bool(), float("-inf"))
        return torch.softmax(scores, -1) @ v


class ScaledOnOneSide(nn.Module):
    def forward(self, q, k, v, scaled=False):
        if scaled:
            scores = q @ k.transpose(-2, -1) * 0.5
        else:
            scores = q @ k.transpose(-2, -1)
        return torch.softmax(scores, -1) @ v


class TheSameOnBoth(nn.Module):
    def forward(self, q, k, v, mask, wide=False):
        scores = (q @ k.transpose(-2, -1) * 0.5).masked_fill(mask, float("-inf"))
        if wide:
            weights = torch.softmax(scores.float(), -1).to(v.dtype)
        else:
            weights = torch.softmax(scores, -1)
        return weights @ v


class AddedOnBoth(nn.Module):
    def forward(self, q, k, v, bias=None):
        return mindiesd.ext.attention_forward(
            q,
            k,
            v,
            attn_mask=bias,
            scale=0.5,
            head_first=True,
            strides="BNSD",
        )


class UnderTwoConditions(nn.Module):
    def forward(self, q, k, v, bias=None, use=False):
        return mindiesd.ext.attention_forward(
            q,
            k,
            v,
            attn_mask=bias if bias is not None and use else None,
            scale=0.5,
            head_first=True,
            strides="BNSD",
        )


class ANumberForNone(nn.Module):
    def forward(self, q, k, v, bias=None):
        scores = q @ k.transpose(-2, -1) * 0.5
        if bias is None:
            bias = 0
        scores = scores + bias
        return scores.softmax(dim=-1) @ v


class ANumber(nn.Module):
    def forward(self, q, k, v):
        scores = q @ k.transpose(-2, -1) * 0.5 + 1e-6
        return scores.softmax(dim=-1) @ v


class ByItsType(nn.Module):
    def forward(self, q, k, v, mask=None):
        scores = q @ k.transpose(-2, -1) * 0.5
        if mask is not None:
            if mask.dtype == torch.bool:
                scores = scores.masked_fill(mask, float("-inf"))
            else:
                scores = scores + mask
        return scores.softmax(dim=-1) @ v
