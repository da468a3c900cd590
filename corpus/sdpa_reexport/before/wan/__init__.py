from .model import Attention

__all__ = ["Attention"]
