import mindiesd
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, heads, dropout=0.1):
        super().__init__()
        self.heads = heads
        self.dropout = dropout

    def training_only(self, q, k, v):
        b, n, h, d = q.shape
        m = k.shape[1]
        q = q.view(b, n, h, d)
        k = k.view(b, m, h, d)
        v = v.view(b, m, h, d)
        x = mindiesd.attention_forward(
            q, k, v
        )
        return x.reshape(b, n, h * d)

    def inference_only(self, q, k, v):
        b, n, h, d = q.shape
        m = k.shape[1]
        q = q.view(b, n, h, d)
        k = k.view(b, m, h, d)
        v = v.view(b, m, h, d)
        x = mindiesd.attention_forward(
            q, k, v
        )
        return x.reshape(b, n, h * d)

    def variable(self, q, k, v):
        b, n, h, d = q.shape
        m = k.shape[1]
        q = q.view(b, n, h, d)
        k = k.view(b, m, h, d)
        v = v.view(b, m, h, d)
        x = mindiesd.attention_forward(q, k, v)
        return x.reshape(b, n, h * d)
