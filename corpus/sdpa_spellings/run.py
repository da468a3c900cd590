import importlib

import torch

NAMES = ["by_alias", "by_module", "by_name", "by_name_alias", "by_nn", "by_package", "by_private_name",
         "by_assignment", "by_import_inside"]  # fmt: skip


def outputs():
    qkv = [torch.randn(2, 3, 5, 8) for _ in range(3)]
    return [importlib.import_module(name).attend(*qkv) for name in NAMES]
