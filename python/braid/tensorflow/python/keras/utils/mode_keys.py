"""The names of what a model does with a batch."""

from braid.tensorflow.python.saved_model.model_utils import mode_keys as _mode_keys

KerasModeKeys = ModeKeys = _mode_keys.KerasModeKeys
