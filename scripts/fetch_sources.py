"""Fetches the C sources that the build compiles into the folder named as the only argument.

For builds that CMake starts without ./dev (`pip install .`). The virtual environment that pip
needs for it is a scratch one, for the tree's own belongs to ./dev.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from devtool import sources, venv  # noqa: E402
from devtool.steps import Stop  # noqa: E402

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        venv.FOLDER = Path(scratch) / "venv"
        try:
            sources.ensure(Path(sys.argv[1]))
        except Stop as stop:
            sys.exit(str(stop))
