#!/usr/bin/env python3
# -*- coding: utf-8 -*-
# Copyright 2026 Somebody. Licensed under terms.

import logging
import os

import mindiesd.ext
import numpy as np
import torch
from einops import rearrange

from .layers import Layer

logger = logging.getLogger(__name__)


def attend(q, k, v):
    return rearrange(mindiesd.ext.attention_forward(q, k, v, head_first=True), "b h n d -> b n (h d)")
