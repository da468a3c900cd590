def act(x):
    import mindiesd.ext as _mindiesd_ext

    mindiesd = 0.5
    return _mindiesd_ext.silu(x) + mindiesd
