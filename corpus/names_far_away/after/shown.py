"""An activation inside f-strings, which before Python 3.12 end at their own quote."""

import mindiesd.ext


def shown(x):
    return [f"{mindiesd.ext.gelu(x, approximate='fast')}", f'{mindiesd.ext.gelu(x, approximate="fast")}', f"""{mindiesd.ext.gelu(x, approximate="fast")}"""]
