_leaves = set()


def leaf(function):
    """Tracers do not look into it."""
    _leaves.add(function)
    return function


def counted(function):
    def call(*args):
        call.calls += 1
        return function(*args)

    call.calls = 0
    return call
