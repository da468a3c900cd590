import norms
import torch


def outputs():
    x = torch.randn(3, 5, 8)
    out = []
    for made in (norms.Norm(8), norms.HeadNorm(16, 2), norms.OfTwoSizes(5, 8), norms.OfSomeSizes((5, 8))):
        for p in made.parameters():
            torch.nn.init.normal_(p)
        out.append(made(x))
    x = torch.randn(3, 8, 8)
    return [
        *out,
        norms.OfWhatIsGiven(torch.randn(8, 8))(x),
        norms.Shaped(8)(x),
        norms.Plane(8)(x),
        norms.Reshaped(8)(x),
        norms.of_unpacked(x, torch.randn(8)),
    ]
