"""Which changes to graphs older readers know (tf.compat.forward_compatible)."""

import contextlib
import datetime

from braid.tensorflow.python.util.tf_export import tf_export

_horizon = datetime.date(2019, 10, 14)  # TensorFlow 1.15 was released on this day


@tf_export("compat.forward_compatible")
def forward_compatible(year, month, day):
    """Whether a reader from before this date is to be able to read what is written: if not, it may be newer."""
    return _horizon > datetime.date(year, month, day)


@tf_export("compat.forward_compatibility_horizon")
@contextlib.contextmanager
def forward_compatibility_horizon(year, month, day):
    """Within it readers are of this date."""
    global _horizon
    before, _horizon = _horizon, datetime.date(year, month, day)
    try:
        yield
    finally:
        _horizon = before
