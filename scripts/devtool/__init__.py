"""The verbs of ./dev, in the standard library alone. Entry point: __main__.main."""
