import mindiesd.ext as _mindiesd_ext
from settings import *


def act(x):
    return _mindiesd_ext.silu(x) * mindiesd
