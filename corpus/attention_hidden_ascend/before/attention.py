def attend(q, k, v, hidden):
    q, k, v = (q.permute(0, 2, 1, 3), k.permute(0, 2, 1, 3), v.permute(0, 2, 1, 3))
    scores = (q @ k.transpose(-2, -1)) * 0.125
    scores = scores.masked_fill(hidden, float("-inf"))
    return scores.softmax(-1) @ v
