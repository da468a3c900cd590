from norms import Norm


class Centred(Norm):
    def _norm(self, x):
        x = x - x.mean(-1, keepdim=True)
        return super()._norm(x)
