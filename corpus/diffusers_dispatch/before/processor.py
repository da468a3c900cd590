from diffusers.models.attention_dispatch import dispatch_attention_fn


class Processor:
    _attention_backend = None
    _parallel_config = None

    def plain(self, query, key, value):
        return dispatch_attention_fn(query, key, value, backend=self._attention_backend)

    def masked(self, query, key, value, mask=None):
        hidden = dispatch_attention_fn(
            query,
            key,
            value,
            attn_mask=mask,
            dropout_p=0.0,
            is_causal=False,
            backend=self._attention_backend,
            parallel_config=self._parallel_config,
        )
        return hidden.flatten(2, 3)

    def causal(self, query, key, value):
        return dispatch_attention_fn(query, key, value, is_causal=True, scale=0.5)

    def with_options(self, query, key, value, options):
        return dispatch_attention_fn(query, key, value, attention_kwargs=options)
