import sys

import added
import bracketed
import computed
import looped
import own_method
import updated
import other
from commented import attention

sys.modules["whole"] = other
for name in ("F",):
    setattr(computed, name, other)
updated.__dict__.update({"F": other})
for looped.F in (other,):  # the target of a loop
    pass
(
    bracketed.F,
    rest,
) = other, None
own_method.__setattr__("F", other)
names = vars(added)
names["F"] = other
