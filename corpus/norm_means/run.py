import norms
import torch


def outputs():
    model = norms.Norms(24)
    model.weight.data.normal_()
    out = []
    for x in (torch.randn(2, 5, 24), torch.randn(2, 5, 24).double()):
        out += [
            model.product(x),
            model.sum_by_shape(x),
            model.sum_by_size(x),
            model.dims(x),
            model.unsqueezed(x),
            model.new_axis(x),
            norms.another_axis(x),
        ]
    return out
