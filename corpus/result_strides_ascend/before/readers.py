def joined(out):
    b, n, s, d = out.shape
    return out.view(b * n, s, d)
