#!/usr/bin/env python3
# -*- coding: utf-8 -*-
# Copyright 2026 Somebody. Licensed under terms.

import logging
import os

import numpy as np
import torch
from einops import rearrange
from torch.nn.functional import scaled_dot_product_attention

from .layers import Layer

logger = logging.getLogger(__name__)


def attend(q, k, v):
    return rearrange(scaled_dot_product_attention(q, k, v), "b h n d -> b n (h d)")
