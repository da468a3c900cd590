from diffusers.models import embeddings


class Rotation:
    def not_literal(self, query, rotary, real):
        return embeddings.apply_rotary_emb(query, rotary, use_real=real)

    def by_attribute(self, query, rotary):
        return embeddings.apply_rotary_emb(query, rotary, use_real_unbind_dim=self.unbind_dim)

    def table_in_the_call(self, query, position):
        return embeddings.apply_rotary_emb(query, self.rope(position + 1))

    def dim_three(self, query, rotary):
        return embeddings.apply_rotary_emb(query, rotary, sequence_dim=3)
