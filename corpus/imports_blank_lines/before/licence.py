#!/usr/bin/env python
# Copyright 2026 Somebody.
#
# Licensed under terms.
def attend(q, k, v):
    from .operators import attend_to as sdpa

    return sdpa(q, k, v)
