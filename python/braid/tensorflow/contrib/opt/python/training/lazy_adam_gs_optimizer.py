"""AdamGSOptimizer whose sparse gradients change only the rows that they have."""

from braid.tensorflow.contrib.opt.python.training import adam_gs_optimizer, lazy_adam_optimizer


class LazyAdamGSOptimizer(adam_gs_optimizer.AdamGSOptimizer, lazy_adam_optimizer.LazyAdamOptimizer):
    """AdamGSOptimizer; the moments of rows without a gradient do not decay."""
