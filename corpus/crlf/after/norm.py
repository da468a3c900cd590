import mindiesd.ext


def normalise(self, x):
    return mindiesd.ext.rms_norm(x, self.weight, self.eps)


def long(self, hidden_states):
    return mindiesd.ext.rms_norm(
        hidden_states,
        self.the_weight_of_the_norm,
        self.epsilon_inside_the_root,
    )
