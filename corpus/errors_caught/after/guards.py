from contextlib import contextmanager


@contextmanager
def guard():
    try:
        yield
    except RuntimeError:
        pass


class Guard:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True
