import mindiesd.ext


def at_once(q, k, v, b, n, d):
    q, k, v = q.view(b, -1, n, d), k.view(b, -1, n, d), v.view(b, -1, n, d)
    x = mindiesd.attention_forward(q, k, v)
    return x.flatten(2)


def in_branches(q, k, v, b, n, d, dense):
    q, k, v = q.view(b, -1, n, d), k.view(b, -1, n, d), v.view(b, -1, n, d)
    x = mindiesd.attention_forward(q, k, v)
    return x.flatten(2)


def in_one_branch(q, k, v, b, n, d, memory):
    q = q.view(b, -1, n, d)
    if memory is None:
        k = k.view(b, -1, n, d)
        v = v.view(b, -1, n, d)
    else:
        k, v = memory[0], memory[1]
    x = mindiesd.attention_forward(q, k, v)
    return x.flatten(2)


def nothing_left_of_one(q, k, v, b, n, d, scale):
    q, k, v = q.view(b, -1, n, d), k.view(b, -1, n, d), v.view(b, -1, n, d)
    if scale is not None:
        print("scaled")
    x = mindiesd.attention_forward(q, k, v, scale=scale)
    return x.flatten(2)


def with_autocast_off(self, x):
    return mindiesd.ext.rms_norm(x, self.weight, self.eps)
