"""The exponential function."""

from braid.tensorflow.contrib.distributions.python.ops.bijectors import power_transform


__all__ = ["Exp"]


class Exp(power_transform.PowerTransform):
    """y = exp(x)."""

    def __init__(self, validate_args=False, name="exp"):
        super().__init__(validate_args=validate_args, name=name)
