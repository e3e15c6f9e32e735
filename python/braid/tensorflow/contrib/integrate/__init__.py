"""tf.contrib.integrate: ordinary differential equations."""

from braid.tensorflow.contrib.integrate.python.ops.odes import odeint, odeint_fixed  # noqa: F401


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.integrate.{name}"))
