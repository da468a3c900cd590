"""A small diffusion transformer: patches, rotary attention, cross attention, modulation."""

from .model import TinyDiT

__all__ = ["TinyDiT"]
