class F:
    @staticmethod
    def scaled_dot_product_attention(q, k, v):
        return q + k + v
