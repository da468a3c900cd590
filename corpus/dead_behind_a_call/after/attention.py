import mindiesd.ext


class Attention:
    def attend(self, q, k, v):
        return mindiesd.ext.attention_forward(q, k, v, head_first=True)

    def by_local_name(self, q, k, v):
        return mindiesd.ext.attention_forward(q, k, v, head_first=True)
