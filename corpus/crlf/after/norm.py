import mindiesd.ext


def normalise(x, weight, eps=1e-6):
    return mindiesd.ext.rms_norm(x, weight, eps, result_type="promoted")


def long(hidden_states, the_weight_of_the_norm, epsilon_inside_the_root):
    return mindiesd.ext.rms_norm(
        hidden_states,
        the_weight_of_the_norm,
        epsilon_inside_the_root,
        result_type="promoted",
    )
