import mindiesd.ext
from diffusers.models.attention_dispatch import dispatch_attention_fn


class Processor:
    _attention_backend = None
    _parallel_config = None

    def plain(self, query, key, value):
        return mindiesd.attention_forward(query, key, value)

    def masked(self, query, key, value, mask=None):
        hidden = mindiesd.ext.attention_forward(
            query,
            key,
            value,
            attn_mask=mask,
            is_causal=False,
            parallel_config=self._parallel_config,
            mask_2d="batch_key",
        )
        return hidden.flatten(2, 3)

    def causal(self, query, key, value):
        return mindiesd.ext.attention_forward(
            query,
            key,
            value,
            is_causal=True,
            scale=0.5,
        )

    def with_options(self, query, key, value, options):
        return dispatch_attention_fn(query, key, value, attention_kwargs=options)
