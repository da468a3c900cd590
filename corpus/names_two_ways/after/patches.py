import sys

import added
import computed
import updated
import other
from commented import attention

sys.modules["whole"] = other
for name in ("F",):
    setattr(computed, name, other)
updated.__dict__["F"] = other
vars(added)["F"] = other
