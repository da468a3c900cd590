from contextlib import ExitStack, contextmanager

import torch

from guards import Guard, guard


@contextmanager
def own():
    try:
        yield
    except RuntimeError:
        pass


@contextmanager
def timed(
    log,
):
    try:
        yield
    finally:
        log.close()


def ended_here(x, act):
    var = act(x)
    with own():
        act(x)
        var = x.pow(2).mean(-1, keepdim=True)
    return x * torch.rsqrt(var + 1e-6)


def ended_elsewhere(x, act):
    var = act(x)
    with guard():
        act(x)
        var = x.pow(2).mean(-1, keepdim=True)
    return x * torch.rsqrt(var + 1e-6)


def ended_by_a_class(x, act):
    var = act(x)
    with Guard() as found:
        act(found)
        var = x.pow(2).mean(-1, keepdim=True)
    return x * torch.rsqrt(var + 1e-6)


def ended_by_a_stack(x, act):
    var = act(x)
    with ExitStack() as stack:
        stack.enter_context(guard())
        act(x)
        var = x.pow(2).mean(-1, keepdim=True)
    return x * torch.rsqrt(var + 1e-6)


def never_ended(x, act, log):
    var = act(x)
    with timed(log):
        act(x)
        var = x.pow(2).mean(-1, keepdim=True)
    return x * torch.rsqrt(var + 1e-6)


def inside(x):
    with own():
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
