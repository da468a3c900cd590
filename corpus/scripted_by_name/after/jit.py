import os

import torch

fuser = torch.jit.script if os.environ.get("FUSE") else (lambda f: f)


def use_compiler():
    global fuser
    fuser = torch.compile


def maybe(fuse=True):
    # Twice as fast.

    def decorate(f):
        return torch.jit.script(f) if fuse else f

    return decorate


def timed(f):
    return f


class Runner:
    def compile(self):
        self.net = torch.jit.script(self.net)
