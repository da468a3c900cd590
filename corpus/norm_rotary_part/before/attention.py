"""Rotations of a part of the sequence, such as image tokens beside text that does not turn, behind norms of the whole, and
what keeps the parts apart."""

import torch
from diffusers.models.embeddings import apply_rotary_emb
from diffusers.models.normalization import RMSNorm
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
            self.norm_q = RMSNorm(width // heads, eps=1e-6)
        self.add_q_proj = None
        if added is not None:
            self.add_q_proj = nn.Linear(added, width)
            self.norm_added_q = RMSNorm(width // heads, eps=1e-6)
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
            query = attn.norm_q(query)

        if image_rotary_emb is not None:
            if attn.add_q_proj is None and encoder_hidden_states is not None:
                query = torch.cat(
                    [
                        apply_rotary_emb(
                            query[:, : -encoder_hidden_states.shape[1]],
                            image_rotary_emb,
                            sequence_dim=1,
                        ),
                        query[:, -encoder_hidden_states.shape[1] :],
                    ],
                    dim=1,
                )
            else:
                query = apply_rotary_emb(query, image_rotary_emb, sequence_dim=1)

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
        self.norm_q = nn.RMSNorm(width // heads, eps=1e-6)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1))

    def forward(self, x, text, rotary_emb):
        q = self.norm_q(self.split(x))
        return torch.cat(
            [q[:, :text], apply_rotary_emb(q[:, text:], rotary_emb, use_real_unbind_dim=-2, sequence_dim=1)], dim=1
        )


class HeadsFirst(Rows):
    """Heads before the sequence, and no norm."""

    def forward(self, x, text, rotary_emb):
        q = self.split(x).transpose(1, 2)
        return torch.cat((q[:, :, :text], apply_rotary_emb(q[:, :, text:], rotary_emb)), dim=2)


class ComplexTables(Rows):
    """Complex tables, the first rows."""

    def forward(self, x, text, rotary_emb):
        q = self.norm_q(self.split(x))
        q = torch.cat([apply_rotary_emb(q[:, :-text], rotary_emb, use_real=False), q[:, -text:]], dim=1)
        return q * 2


class OtherPlaces(Rows):
    """What is left begins elsewhere."""

    def forward(self, x, text, rotary_emb):
        q = self.norm_q(self.split(x))
        return torch.cat([apply_rotary_emb(q[:, :-text], rotary_emb, sequence_dim=1), q[:, text:]], dim=1)


class OtherDimension(Rows):
    """Slices along the sequence, joined along the heads."""

    def forward(self, x, text, rotary_emb):
        q = self.norm_q(self.split(x))
        return torch.cat([apply_rotary_emb(q[:, :text], rotary_emb, sequence_dim=1), q[:, text:]], dim=2)


class OtherTensor(Rows):
    """What is left is another tensor's."""

    def forward(self, x, text, rotary_emb):
        q = self.norm_q(self.split(x))
        k = self.split(x)
        return torch.cat([apply_rotary_emb(q[:, :text], rotary_emb, sequence_dim=1), k[:, text:]], dim=1)


class ReadBeside(Rows):
    """What the norm gives is read beside both."""

    def forward(self, x, text, rotary_emb):
        q = self.norm_q(self.split(x))
        joint = torch.cat([apply_rotary_emb(q[:, :text], rotary_emb, sequence_dim=1), q[:, text:]], dim=1)
        return joint + q.mean()


class Written(Rows):
    """The tensor is written between."""

    def forward(self, x, text, rotary_emb):
        q = self.split(x) * 1
        turned = apply_rotary_emb(q[:, :text], rotary_emb, sequence_dim=1)
        q.mul_(2)
        return torch.cat([turned, q[:, text:]], dim=1)


class NormWritten(Rows):
    """The norm's weight is written between."""

    def forward(self, x, text, rotary_emb):
        q = self.norm_q(self.split(x))
        self.norm_q.weight.data.mul_(0.5)
        return torch.cat([apply_rotary_emb(q[:, :text], rotary_emb, sequence_dim=1), q[:, text:]], dim=1)


class BothTurn(Rows):
    """Two rotations behind one norm, one after the other."""

    def forward(self, x, text, rotary_emb):
        q = self.norm_q(self.split(x))
        first = apply_rotary_emb(q, rotary_emb, sequence_dim=1)
        if text > 2:
            first = first + apply_rotary_emb(q, rotary_emb, use_real_unbind_dim=-2, sequence_dim=1)
        return first * 2


class EitherTurns(Rows):
    """One rotation or the other behind one norm, or none."""

    def forward(self, x, text, rotary_emb, half=None):
        q = self.split(x)
        q = self.norm_q(q)
        if rotary_emb is not None:
            if half is None:
                q = apply_rotary_emb(q, rotary_emb, sequence_dim=1)
            else:
                q = apply_rotary_emb(q, rotary_emb, use_real_unbind_dim=-2, sequence_dim=1)
        return q * 2


class PartReadBeside(Rows):
    """The part that does not turn is read beside the joint tensor."""

    def forward(self, x, text, rotary_emb=None):
        q = self.split(x)
        q = self.norm_q(q)
        if rotary_emb is not None:
            rest = q[:, text:]
            q = torch.cat([apply_rotary_emb(q[:, :text], rotary_emb, sequence_dim=1), rest], dim=1)
            q = q + rest.mean()
        return q * 2


class EitherReads(Rows):
    """One branch turns what the other reads."""

    def forward(self, x, text, rotary_emb):
        q = self.norm_q(self.split(x))
        if text > 2:
            q = apply_rotary_emb(q, rotary_emb, sequence_dim=1)
        else:
            q = torch.cat([apply_rotary_emb(q[:, :text], rotary_emb, sequence_dim=1), q[:, text:] + q.mean()], dim=1)
        return q * 2
