def rearrange(tensor, axes):
    return tensor.reshape(axes)
