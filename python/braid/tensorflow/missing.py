"""What a program reads when it uses a name of TensorFlow's that Braid does not have."""

import difflib

from braid.tensorflow._api import NAMES

_EAGER = "Braid runs graphs: build one and run it in a tf.Session"
# Parts of TensorFlow that Braid leaves out, and what to do instead.
_REFUSED = {
    "function": _EAGER,
    "GradientTape": "Braid runs graphs: tf.gradients gives derivatives",
    "contrib.eager": _EAGER,
    "contrib.tpu": "Braid has no TPUs",
    "tpu": "Braid has no TPUs",
    "lite": "Braid trains; it does not convert models for TensorFlow Lite",
    "contrib.lite": "Braid trains; it does not convert models for TensorFlow Lite",
    "autograph": "Braid has no AutoGraph: use tf.cond and tf.while_loop",
}


def message(full):
    """The text of the error for the name `full`, without "tf."."""
    for name, way in _REFUSED.items():
        if full == name or full.startswith(name + "."):
            return f"tf.{full} is not in Braid. {way}."
    near = difflib.get_close_matches(full, NAMES, 3)
    hint = f" Similar names: {', '.join('tf.' + n for n in near)}." if near else ""
    return f"module 'tensorflow' has no attribute {full!r} in Braid.{hint}"
