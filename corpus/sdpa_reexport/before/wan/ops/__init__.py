"""What the models use of torch, in one place."""

from .kernels import *
