# -*- coding: latin-1 -*-
import torch.nn.functional as F


def attend(q, k, v):
    """Für Köpfe und Plätze."""
    größe = q.shape
    return F.scaled_dot_product_attention(q, k, v)  # é
