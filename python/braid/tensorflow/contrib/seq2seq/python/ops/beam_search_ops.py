"""The sequences of a beam search."""

from braid.tensorflow.python.ops.gen_beam_search_ops import gather_tree  # noqa: F401
