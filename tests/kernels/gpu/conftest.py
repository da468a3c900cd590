"""Lets the tests import bench/launchers.py, and skips them where there is no device or library.

Tests in parallel share the device's memory: what needs a large part of it runs one at a time, in any
number of processes, and no test leaves more than a little of it in torch's hands.
"""

import fcntl
import sys
import tempfile
from pathlib import Path

import pytest
import torch

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[3] / "bench")]


def pytest_collection_modifyitems(items):
    if torch.cuda.is_available():
        return
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)
    yield
    if torch.cuda.memory_reserved() > 2**30:
        torch.cuda.empty_cache()


@pytest.fixture
def much_memory():
    """For a test of 20 GiB or more: alone among its kind, and skipped on a device that has less than 60."""
    if torch.cuda.get_device_properties(0).total_memory < 60 * 2**30:
        pytest.skip("needs 60 GiB of device memory")
    with open(Path(tempfile.gettempdir()) / "mindiesd-much-device-memory.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        torch.cuda.empty_cache()
        yield
        torch.cuda.empty_cache()
