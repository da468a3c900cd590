import builtins
import logging
from pathlib import Path

import mindiesd.ext

logger = logging.getLogger(Path(__file__).stem)


def activate(x: builtins.object):
    return mindiesd.ext.gelu(x)
