import attention
import torch


def outputs():
    q, k, v = torch.randn(2, 4, 6, 8), torch.randn(2, 4, 5, 8), torch.randn(2, 4, 5, 8)
    hidden = torch.randn(6, 5) > 1
    return [
        attention.Optional()(q, k, v),
        attention.Optional()(q, k, v, 1 - hidden.int()),
        attention.ByAFlag()(q, k, v, hidden),
        attention.ByAFlag()(q, k, v, hidden, True),
        attention.OfAPart()(q, k, v),
        attention.OfAPart()(q, k, v, torch.randn(4, 6, 5)),
        attention.EitherWay()(q, k, v, hidden.float()),
        attention.EitherWay()(q, k, v, hidden.float(), True),
        attention.ScaledOnOneSide()(q, k, v),
        attention.ScaledOnOneSide()(q, k, v, True),
        attention.TheSameOnBoth()(q, k, v, hidden),
        attention.TheSameOnBoth()(q, k, v, hidden, True),
        attention.AddedOnBoth()(q, k, v),
        attention.AddedOnBoth()(q, k, v, torch.randn(6, 5)),
        attention.UnderTwoConditions()(q, k, v, torch.randn(6, 5)),
        attention.UnderTwoConditions()(q, k, v, torch.randn(6, 5), True),
        attention.ANumberForNone()(q, k, v),
        attention.ANumberForNone()(q, k, v, torch.randn(6, 5)),
        attention.ANumber()(q, k, v),
        *(attention.ByItsType()(q, k, v, mask) for mask in (None, hidden, hidden.float())),
    ]
