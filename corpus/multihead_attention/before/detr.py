from torch import nn
from torch.nn.modules.activation import MultiheadAttention


class DecoderLayer(nn.Module):
    def __init__(self, width, heads, dropout=0.1):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(width, heads, dropout=dropout)
        self.multihead_attn = MultiheadAttention(width, heads, dropout=dropout)

    def forward(self, tgt, memory, pos, query_pos, tgt_mask=None, padding=None):
        q = k = tgt + query_pos
        tgt2 = self.self_attn(q, k, value=tgt, attn_mask=tgt_mask, key_padding_mask=None)[0]
        tgt = tgt + tgt2
        tgt2 = self.multihead_attn(
            query=tgt + query_pos,
            key=memory + pos,
            value=memory,
            key_padding_mask=padding,
        )[0]
        return tgt + tgt2


class EncoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(width, heads, batch_first=True)

    def forward(self, src, src_mask, padding):
        out, _ = self.self_attn(src, src, src, padding, attn_mask=src_mask)
        plain, weights = self.self_attn(src, src, src)
        return src + out + plain
