"""The runtime that migrated models import: attention, rotary embedding, norms and activations with
the published MindIE-SD names, over libmindiesd. ``mindiesd.ext`` goes beyond the published API,
``mindiesd.serving`` runs models side by side; ``mindiesd.utils`` has the exceptions. Where a derivative
is wanted, torch code computes."""

import importlib.util
import os

if importlib.util.find_spec("torch") is None:
    raise ModuleNotFoundError(
        "mindiesd needs torch 2.4 or newer and found none; install the build of torch that fits this machine",
        name="torch",
    )

from . import ext, serving, utils
from ._bisect import check_forms, disable
from ._library import library_path
from ._library import version as __version__
from .attention import attention_forward, attention_forward_varlen
from .layers import RMSNorm, fast_layernorm, get_activation_layer, layernorm_scale_shift
from .prepare import prepare, restore
from .rotary import rotary_position_embedding
from .serving import Instances, graphed, overlap

__all__ = [
    "Instances",
    "RMSNorm",
    "attention_forward",
    "attention_forward_varlen",
    "disable",
    "fast_layernorm",
    "get_activation_layer",
    "graphed",
    "layernorm_scale_shift",
    "overlap",
    "prepare",
    "restore",
    "rotary_position_embedding",
]

if os.environ.get("MINDIESD_CHECK") == "1":
    check_forms()
