"""What reads `F` of the package's modules, in every way but `module.F`."""

import sys
from importlib import import_module

import package.held
from package import apart, by_text, imported, table

H = package.held
FUNCTIONS = [H.F, getattr(by_text, "F"), import_module("package.imported").F, sys.modules["package.table"].F]
DEEPER = (apart
          .F)
