"""Weights in TensorFlow's checkpoints of objects; the root is the model."""

import os

from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.training import checkpoint_management
from braid.tensorflow.python.training.tracking import graph_view
from braid.tensorflow.python.training.tracking import util


def _saver(model):
    return util.TrackableSaver(graph_view.ObjectGraphView(model))


def save_weights(model, filepath):
    """Writes the model's variables, and those of its optimizer."""
    _saver(model).save(filepath, session=K.get_session())
    checkpoint_management.update_checkpoint_state_internal(
        os.path.dirname(filepath) or ".",
        filepath,
        save_relative_paths=True,
        all_model_checkpoint_paths=[filepath],
    )


def load_weights(model, filepath):
    """Sets the variables that the checkpoint has. Slots of the optimizer are set when it makes them.

    AssertionError: it has none of the model's.
    """
    status = _saver(model).restore(filepath)
    if isinstance(status, util.CheckpointLoadStatus):
        try:
            status.assert_nontrivial_match()
        except AssertionError as e:
            raise AssertionError(
                f"{filepath} has none of the weights of the model {model.name}: {e}"
            ) from None
        model._loaded = status
    status.run_restore_ops(K.get_session())
    return status
