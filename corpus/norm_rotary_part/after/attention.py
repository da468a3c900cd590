"""Rotations of a part of the sequence, such as image tokens beside text that does not turn, behind norms of the whole, and
what keeps the parts apart."""

import mindiesd.ext
import torch
from torch import nn


class Attention(nn.Module):
    """The configuration says which norm there is."""

    def __init__(self, width, heads, qk_norm=None, added=None, processor=None):
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(width, width)
        self.norm_q = None
        if qk_norm == "layer_norm":
            self.norm_q = nn.LayerNorm(width // heads)
        elif qk_norm == "rms_norm":
            self.norm_q = mindiesd.ext.TypedRMSNorm(width // heads, eps=1e-6, result_type="weight")
        self.add_q_proj = None
        if added is not None:
            self.add_q_proj = nn.Linear(added, width)
            self.norm_added_q = mindiesd.ext.TypedRMSNorm(width // heads, eps=1e-6, result_type="weight")
        self.processor = processor

    def forward(self, hidden_states, encoder_hidden_states=None, rotary_emb=None):
        return self.processor(self, hidden_states, encoder_hidden_states, rotary_emb)


class HunyuanVideoLike:
    """Of one stream a part turns, of two the first, behind one norm."""

    def __call__(self, attn: "Attention", hidden_states, encoder_hidden_states=None, image_rotary_emb=None):
        if attn.add_q_proj is None and encoder_hidden_states is not None:
            hidden_states = torch.cat([hidden_states, encoder_hidden_states], dim=1)
        query = attn.to_q(hidden_states)
        query = query.unflatten(2, (attn.heads, -1))

        if attn.norm_q is not None:
            query = query if image_rotary_emb is not None else attn.norm_q(query)

        if image_rotary_emb is not None:
            if attn.add_q_proj is None and encoder_hidden_states is not None:
                query = mindiesd.ext.norm_rotary(
                    attn.norm_q,
                    query,
                    image_rotary_emb[0][None, :, None, :],
                    image_rotary_emb[1][None, :, None, :],
                    "rotated_interleaved",
                    sequence_dim=1,
                    stop=-encoder_hidden_states.shape[1],
                    rms_type="weight",
                )
            else:
                query = mindiesd.ext.norm_rotary(
                    attn.norm_q,
                    query,
                    image_rotary_emb[0][None, :, None, :],
                    image_rotary_emb[1][None, :, None, :],
                    "rotated_interleaved",
                    rms_type="weight",
                )

        if attn.add_q_proj is not None and encoder_hidden_states is not None:
            encoder_query = attn.add_q_proj(encoder_hidden_states)
            encoder_query = encoder_query.unflatten(2, (attn.heads, -1))
            encoder_query = attn.norm_added_q(encoder_query)
            query = torch.cat([query, encoder_query], dim=1)
        return query.flatten(2)


class Rows(nn.Module):
    """Plain norms, the part behind the text, halves that turn."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_q = mindiesd.ext.RMSNorm(width // heads, eps=1e-6)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1))

    def forward(self, x, text, rotary_emb):
        return mindiesd.ext.norm_rotary(
            self.norm_q,
            self.split(x),
            rotary_emb[0][None, :, None, :],
            rotary_emb[1][None, :, None, :],
            sequence_dim=1,
            start=text,
        )


class HeadsFirst(Rows):
    """Heads before the sequence, and no norm."""

    def forward(self, x, text, rotary_emb):
        q = self.split(x).transpose(1, 2)
        return mindiesd.ext.norm_rotary(
            None,
            q,
            rotary_emb[0][None, None, :, :],
            rotary_emb[1][None, None, :, :],
            "rotated_interleaved",
            sequence_dim=2,
            start=text,
        )


class ComplexTables(Rows):
    """Complex tables, the first rows."""

    def forward(self, x, text, rotary_emb):
        q = mindiesd.ext.norm_rotary(self.norm_q, self.split(x), rotary_emb.unsqueeze(2), sequence_dim=1, stop=-text)
        return q * 2


class OtherPlaces(Rows):
    """What is left begins elsewhere."""

    def forward(self, x, text, rotary_emb):
        q = self.norm_q(self.split(x))
        return torch.cat([mindiesd.rotary_position_embedding(q[:, :-text], rotary_emb[0], rotary_emb[1], rotated_mode="rotated_interleaved"), q[:, text:]], dim=1)


class OtherDimension(Rows):
    """Slices along the sequence, joined along the heads."""

    def forward(self, x, text, rotary_emb):
        q = self.norm_q(self.split(x))
        return torch.cat([mindiesd.rotary_position_embedding(q[:, :text], rotary_emb[0], rotary_emb[1], rotated_mode="rotated_interleaved"), q[:, text:]], dim=2)


class OtherTensor(Rows):
    """What is left is another tensor's."""

    def forward(self, x, text, rotary_emb):
        q = self.norm_q(self.split(x))
        k = self.split(x)
        return torch.cat([mindiesd.rotary_position_embedding(q[:, :text], rotary_emb[0], rotary_emb[1], rotated_mode="rotated_interleaved"), k[:, text:]], dim=1)


class ReadBeside(Rows):
    """What the norm gives is read beside both."""

    def forward(self, x, text, rotary_emb):
        q = self.norm_q(self.split(x))
        joint = torch.cat([mindiesd.rotary_position_embedding(q[:, :text], rotary_emb[0], rotary_emb[1], rotated_mode="rotated_interleaved"), q[:, text:]], dim=1)
        return joint + q.mean()


class Written(Rows):
    """The tensor is written between."""

    def forward(self, x, text, rotary_emb):
        q = self.split(x) * 1
        turned = mindiesd.rotary_position_embedding(
            q[:, :text],
            rotary_emb[0],
            rotary_emb[1],
            rotated_mode="rotated_interleaved",
        )
        q.mul_(2)
        return torch.cat([turned, q[:, text:]], dim=1)


class NormWritten(Rows):
    """The norm's weight is written between."""

    def forward(self, x, text, rotary_emb):
        q = self.norm_q(self.split(x))
        self.norm_q.weight.data.mul_(0.5)
        return torch.cat([mindiesd.rotary_position_embedding(q[:, :text], rotary_emb[0], rotary_emb[1], rotated_mode="rotated_interleaved"), q[:, text:]], dim=1)


class BothTurn(Rows):
    """Two rotations behind one norm, one after the other."""

    def forward(self, x, text, rotary_emb):
        q = self.norm_q(self.split(x))
        first = mindiesd.rotary_position_embedding(
            q,
            rotary_emb[0],
            rotary_emb[1],
            rotated_mode="rotated_interleaved",
        )
        if text > 2:
            first = first + mindiesd.rotary_position_embedding(
                q,
                rotary_emb[0],
                rotary_emb[1],
                rotated_mode="rotated_half",
            )
        return first * 2


class EitherTurns(Rows):
    """One rotation or the other behind one norm, or none."""

    def forward(self, x, text, rotary_emb, half=None):
        q = self.split(x)
        q = q if rotary_emb is not None else self.norm_q(q)
        if rotary_emb is not None:
            if half is None:
                q = mindiesd.ext.norm_rotary(
                    self.norm_q,
                    q,
                    rotary_emb[0][None, :, None, :],
                    rotary_emb[1][None, :, None, :],
                    "rotated_interleaved",
                )
            else:
                q = mindiesd.ext.norm_rotary(
                    self.norm_q,
                    q,
                    rotary_emb[0][None, :, None, :],
                    rotary_emb[1][None, :, None, :],
                )
        return q * 2


class PartReadBeside(Rows):
    """The part that does not turn is read beside the joint tensor."""

    def forward(self, x, text, rotary_emb=None):
        q = self.split(x)
        q = self.norm_q(q)
        if rotary_emb is not None:
            rest = q[:, text:]
            q = torch.cat([mindiesd.rotary_position_embedding(q[:, :text], rotary_emb[0], rotary_emb[1], rotated_mode="rotated_interleaved"), rest], dim=1)
            q = q + rest.mean()
        return q * 2


class EitherReads(Rows):
    """One branch turns what the other reads."""

    def forward(self, x, text, rotary_emb):
        q = self.norm_q(self.split(x))
        if text > 2:
            q = mindiesd.rotary_position_embedding(
                q,
                rotary_emb[0],
                rotary_emb[1],
                rotated_mode="rotated_interleaved",
            )
        else:
            q = torch.cat([mindiesd.rotary_position_embedding(q[:, :text], rotary_emb[0], rotary_emb[1], rotated_mode="rotated_interleaved"), q[:, text:] + q.mean()], dim=1)
        return q * 2
