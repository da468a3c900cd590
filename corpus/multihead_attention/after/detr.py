import mindiesd.ext
from torch import nn


class DecoderLayer(nn.Module):
    def __init__(self, width, heads, dropout=0.1):
        super().__init__()
        self.self_attn = mindiesd.ext.MultiheadAttention(width, heads, dropout=dropout)
        self.multihead_attn = mindiesd.ext.MultiheadAttention(width, heads, dropout=dropout)

    def forward(self, tgt, memory, pos, query_pos, tgt_mask=None, padding=None):
        q = k = tgt + query_pos
        tgt2 = mindiesd.ext.multihead_attention(
            self.self_attn,
            k,
            k,
            tgt,
            key_padding_mask=None,
            attn_mask=tgt_mask,
        )
        tgt = tgt + tgt2
        tgt2 = mindiesd.ext.multihead_attention(
            self.multihead_attn,
            tgt + query_pos,
            memory + pos,
            memory,
            key_padding_mask=padding,
        )
        return tgt + tgt2


class EncoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.self_attn = mindiesd.ext.MultiheadAttention(width, heads, batch_first=True)

    def forward(self, src, src_mask, padding):
        out = mindiesd.ext.multihead_attention(
            self.self_attn,
            src,
            src,
            src,
            key_padding_mask=padding,
            attn_mask=src_mask,
        )
        plain = mindiesd.ext.multihead_attention(self.self_attn, src, src, src)
        return src + out + plain
