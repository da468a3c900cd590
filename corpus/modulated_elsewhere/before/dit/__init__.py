from .helpers import scaled as rescaled
