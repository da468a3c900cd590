from .docstring import F
