"""Reading checkpoints (tf.contrib.framework): tf.train's functions under the names of their arguments here."""

from braid.tensorflow.python.training import checkpoint_utils


def load_checkpoint(filepattern):
    """tf.train.load_checkpoint."""
    return checkpoint_utils.load_checkpoint(filepattern)


def load_variable(checkpoint_dir, name):
    """tf.train.load_variable."""
    return checkpoint_utils.load_variable(checkpoint_dir, name)


def list_variables(checkpoint_dir):
    """tf.train.list_variables."""
    return checkpoint_utils.list_variables(checkpoint_dir)


def init_from_checkpoint(checkpoint_dir, assignment_map):
    """tf.train.init_from_checkpoint."""
    return checkpoint_utils.init_from_checkpoint(checkpoint_dir, assignment_map)
