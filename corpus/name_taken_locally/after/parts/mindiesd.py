"""A module of a package is reached by its whole name alone."""

scale = 0.25
