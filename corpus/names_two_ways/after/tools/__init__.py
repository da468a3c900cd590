"""The package that Python takes."""

import other as F
