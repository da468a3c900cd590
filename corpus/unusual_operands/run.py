import forms
import torch
import torch.fx


def outputs():
    x, cos, sin = torch.randn(2, 5, 7), torch.randn(5, 7), torch.randn(5, 7)
    whole = torch.arange(40).reshape(5, 8) % 5
    q, k, v = torch.randn(3, 6, 8)
    results = []
    for rotate in (forms.rotated_by_slices, forms.rotated_by_chunks):
        results += [rotate(x, cos, sin), rotate(whole, whole, whole), rotate(q[:5], whole, whole)]
    results += [forms.attend(q[0], k, v, 0.5), forms.attend(q, k, v, True), forms.attend_by_one(q, k, v)]
    results += [forms.attend(q, k, v, scale).isnan().float() for scale in (float("inf"), float("nan"))]
    norm = forms.Norm(8, -1.0)
    results += [norm(q).nan_to_num(1.0), 1 + forms.Norm(8, float("inf"))(q)]
    results += [torch.fx.symbolic_trace(forms.Normed(8))(q, k, v)]
    results += [forms.gated(torch.randn(2, 3)), forms.clamped(whole)]
    return results
