import mindiesd.ext
from torch.nn.attention import SDPBackend, sdpa_kernel


def attend(q, k, v):
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return mindiesd.ext.attention_forward(q, k, v, head_first=True)


def chosen(q, k, v):
    return mindiesd.ext.attention_forward(q, k, v, head_first=True)
