import left
import norms
import torch


def outputs():
    found = []
    planes, places, stable, encoder = norms.LayerNorm2d(6), norms.Planes(6), norms.Stable(24), norms.Encoder(24)
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for module in (planes, places, stable, encoder):
            module.to(dtype)
        x = (torch.randn(2, 6, 5, 7) * 3 + 1).to(dtype)
        for image in (x, x.to(memory_format=torch.channels_last), x.transpose(2, 3)):
            found += [planes(image), places(image), places(image[:1, :, :1])]
        rows = (torch.randn(2, 5, 24) * 2 - 1).to(dtype)
        for tokens in (rows, rows.transpose(0, 1), rows[:, :1]):
            found += [stable(tokens), encoder(tokens), encoder.weight_first(tokens), encoder.centred(tokens)]
            found += [encoder.cast_before_the_weight(tokens), encoder.cast_behind_the_weight(tokens)]
        found.append(norms.functional(rows, encoder.gamma, encoder.beta, rows))
        found += [norms.functional(rows, rows, rows[:1], 2.0), norms.functional(rows, 3, encoder.beta, rows)]
    found += [left.Annotated(24)(rows), left.of_a_sample(rows), left.over_planes(x), left.root_named(rows)]
    return found
