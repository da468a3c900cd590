__all__ = ["_F"]

import other as _F
