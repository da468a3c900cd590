"""Serving: several instances of one model on one device, independent calls side by side, and calls by CUDA graphs."""

from ._graphs import graphed
from ._instances import Instances
from ._overlap import overlap
from ._requests import Arguments
from ._throughput import Rate, Throughput, throughput

__all__ = ["Arguments", "Instances", "Rate", "Throughput", "graphed", "overlap", "throughput"]
