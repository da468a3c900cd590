"""What reads a result by `.view` says which strides it must have."""

import mindiesd.ext
import torch


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def joined_halves(x, cos, sin):
    b, s, n, d = x.shape
    q = x.transpose(1, 2)
    q = mindiesd.ext.rotary_position_embedding(
        q,
        cos,
        sin,
        rotated_mode="rotated_half",
        result_type="promoted",
        strides="dense",
    )
    return q.view(b * n, s, d)


def joined_neighbours(x, cos, sin, scale):
    b, s, n, d = x.shape
    q = x.transpose(1, 2)
    q = mindiesd.ext.rotary_position_embedding(
        q,
        cos,
        sin,
        rotated_mode="rotated_interleaved",
        result_type="promoted",
        strides="dense",
    )
    return (q * scale).view(b * n, s, d)


def turned_first(x, cos, sin):
    b, s, n, d = x.shape
    q = x.transpose(1, 2)
    q = mindiesd.ext.rotary_position_embedding(
        q,
        cos,
        sin,
        rotated_mode="rotated_chunks",
        result_type="promoted",
        strides="dense",
    )
    return q.view_as(torch.empty(b * n, s, d))


def turned_last(x, cos, sin):
    b, s, n, d = x.shape
    q = x.transpose(1, 2)
    q = mindiesd.ext.rotary_position_embedding(
        q,
        cos,
        sin,
        rotated_mode="rotated_chunks",
        result_type="promoted",
    )
    return q.transpose(1, 2).view(b, s, n * d)


def reshaped(x, cos, sin):
    b, s, n, d = x.shape
    q = x.transpose(1, 2)
    q = mindiesd.ext.rotary_position_embedding(
        q,
        cos,
        sin,
        rotated_mode="rotated_half",
        result_type="promoted",
        strides="dense",
    )
    return q.reshape(b * n, s, d)


def copied_before(x, cos, sin):
    b, s, n, d = x.shape
    q = x.transpose(1, 2).contiguous()
    q = mindiesd.ext.rotary_position_embedding(
        q,
        cos,
        sin,
        rotated_mode="rotated_half",
        result_type="promoted",
    )
    return q.view(b * n, s, d)


def normed(x, eps=1e-6):
    b, s, n, d = x.shape
    q = x.transpose(1, 2).float()
    q = mindiesd.ext.rms_norm(q, eps=eps, result_type="input")
    return q.transpose(1, 2).view(b, s, n * d)


def rotated(q, cos, sin):
    return mindiesd.ext.rotary_position_embedding(
        q,
        cos,
        sin,
        rotated_mode="rotated_half",
        result_type="promoted",
        strides="dense",
    )


def viewed_behind_a_call(x, cos, sin):
    b, s, n, d = x.shape
    return rotated(x.transpose(1, 2), cos, sin).view(b * n, s, d)


def attend(q, k, v):
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        scale=1.0,
        head_first=True,
        strides="BNSD",
    )


def attend_and_name(q, k, v):
    result = attend(q, k, v)
    return result


def heads_apart(x, n):
    b, s, d = x.shape
    q = x.view(b, s, n, -1).transpose(1, 2)
    return attend_and_name(q, q, q).view(b * n, s, -1)


class Block(torch.nn.Module):
    def attend(self, q, k, v):
        return mindiesd.ext.attention_forward(
            q,
            k,
            v,
            scale=1.0,
            head_first=True,
            strides="BNSD",
        )

    def forward(self, x):
        q = x.transpose(1, 2)
        result = self.attend(q, q, q)
        return result.view(-1, *result.shape[2:])

    def attend_kept(self, q, k, v):
        return mindiesd.ext.attention_forward(
            q,
            k,
            v,
            scale=1.0,
            head_first=True,
            strides="BNSD",
        )

    def together(self, x):
        q = x.transpose(1, 2)
        return self.attend_kept(q, q, q).transpose(1, 2).flatten(2)


def turned_in_parts(x, cos, sin):
    b, s, n, d = x.shape
    q = x.transpose(1, 2)
    q = mindiesd.ext.rotary_position_embedding(
        q,
        cos,
        sin,
        rotated_mode="rotated_chunks",
        result_type="promoted",
        strides="sin",
    )
    return q.view(b * n, s, d)


def scaled_before_it_is_read(x, cos, sin):
    b, s, n, d = x.shape
    q = x.transpose(1, 2)
    q = mindiesd.ext.rotary_position_embedding(
        q,
        cos,
        sin,
        rotated_mode="rotated_half",
        result_type="promoted",
        strides="dense",
    )
    q = 0.5 * q
    return q.view(b * n, s, d)


def weighted(x, weight, cos, sin):
    b, s, n, d = x.shape
    q = weight.contiguous() * x.transpose(1, 2)
    q = mindiesd.ext.rotary_position_embedding(
        q,
        cos,
        sin,
        rotated_mode="rotated_half",
        result_type="promoted",
        strides="dense",
    )
    return q.view(b * n, s, d)


def attend_and_copy(q, k, v):
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        scale=1.0,
        head_first=True,
        strides="BNSD",
    )


def copied_behind_a_call(x, n):
    b, s, d = x.shape
    q = x.view(b, s, n, -1).transpose(1, 2)
    result = attend_and_copy(q, q, q).transpose(1, 2).contiguous()
    return result.view(b, s, d)


def normed_before_it_is_read(x, cos, sin, weight):
    b, s, n, d = x.shape
    q = x.transpose(1, 2)
    q = mindiesd.ext.rotary_position_embedding(
        q,
        cos,
        sin,
        rotated_mode="rotated_half",
        result_type="promoted",
        strides="dense",
    )
    q = mindiesd.ext.rms_norm(q, weight, result_type="torch")
    return q.view(b * n, s, d)
