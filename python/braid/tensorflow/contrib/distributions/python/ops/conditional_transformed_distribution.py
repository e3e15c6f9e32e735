"""What a bijector with arguments makes of a distribution with arguments."""

from braid.tensorflow.contrib.distributions.python.ops import conditional_distribution
from braid.tensorflow.python.ops.distributions import transformed_distribution


__all__ = ["ConditionalTransformedDistribution"]


class ConditionalTransformedDistribution(
    conditional_distribution.ConditionalDistribution, transformed_distribution.TransformedDistribution
):
    """TransformedDistribution whose methods take `bijector_kwargs` and `distribution_kwargs`, dicts."""
