import mindiesd.ext
from torch import nn


class Processor(nn.Module):
    def forward(self, query, key, rotary_emb=None):
        if rotary_emb is not None:

            def apply_rotary_emb(hidden_states, freqs_cos, freqs_sin):
                cos = freqs_cos[..., 0::2]
                sin = freqs_sin[..., 1::2]
                return mindiesd.ext.rotary_position_embedding(
                    hidden_states,
                    cos,
                    sin,
                    rotated_mode="rotated_interleaved",
                )

            query = apply_rotary_emb(query, *rotary_emb)
            key = apply_rotary_emb(key, *rotary_emb)
        return query, key
