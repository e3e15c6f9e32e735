"""The base class of bijectors."""

from braid.tensorflow.python.ops.distributions.bijector_impl import Bijector
