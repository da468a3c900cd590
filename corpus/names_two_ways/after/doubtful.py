try:
    from missing import F
except ImportError:
    import other as F
