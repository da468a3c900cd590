import torch.nn.functional as F


def change():
    global F
    import other

    F = other
