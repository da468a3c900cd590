import torch.nn.functional as F


class Attention:
    def attend(self, q, k, v):
        p = self.dropout if self.training else 0.0
        return F.scaled_dot_product_attention(q, k, v, dropout_p=p)

    def by_local_name(self, q, k, v):
        attention = F.scaled_dot_product_attention
        return attention(q, k, v)
