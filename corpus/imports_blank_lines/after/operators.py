from torch.nn.functional import scaled_dot_product_attention as attend_to
