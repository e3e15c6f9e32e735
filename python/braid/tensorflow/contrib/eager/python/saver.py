"""The variables of optimizers, for checkpoints by names."""


def get_optimizer_variables(optimizer):
    """The variables that an optimizer of tf.train has made."""
    return optimizer.variables()
