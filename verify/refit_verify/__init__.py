"""Runs functions as they were and as a migration leaves them, side by side, for `refit verify`.

`driver` reads the job and writes the answer. It starts two processes, one that imports the code as
it was and one that imports the migrated code (`worker`), since two versions of a module cannot live
in one. User code runs in these alone.
"""
