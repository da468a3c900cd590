import mindiesd.ext


def refine(self, x, steps):
    for _ in range(steps):
        x = x + mindiesd.ext.rms_norm(x, self.weight, self.eps, result_type="input")
    return x
