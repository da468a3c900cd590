from unittest import mock

import torch
import torch.nn.functional as F

from attention import attend


def test_attend():
    q = torch.ones(1, 1, 2, 8)
    with mock.patch.object(F, "scaled_dot_product_attention", return_value=q):
        assert attend(q, q, q) is q
