import bom
import form_feed
import latin
import torch


def outputs():
    qkv = [torch.randn(2, 3, 5, 8) for _ in range(3)]
    return [module.attend(*qkv) for module in (bom, form_feed, latin)]
