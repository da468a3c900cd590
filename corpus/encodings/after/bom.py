import mindiesd.ext


def attend(q, k, v):
    """Für Köpfe und Plätze."""
    größe = q.shape
    return mindiesd.ext.attention_forward(q, k, v, head_first=True)  # é 注意力 🙂
