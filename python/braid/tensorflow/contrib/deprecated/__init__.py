"""tf.contrib.deprecated: the summaries of before TensorFlow 1, whose tags are their names."""

from braid.tensorflow.python.ops.logging_ops import (  # noqa: F401
    audio_summary,
    histogram_summary,
    image_summary,
    merge_all_summaries,
    merge_summary,
    scalar_summary,
)


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.deprecated.{name}"))
