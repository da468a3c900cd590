from transformers.models.mistral.modeling_mistral import MistralRMSNorm


def make(width):
    return MistralRMSNorm(width)
