"""Which embeddings TensorBoard's projector shows."""

import os

from google.protobuf import text_format

from braid.tensorflow.contrib.tensorboard.plugins.projector.projector_config_pb2 import (
    EmbeddingInfo,
)  # noqa: F401
from braid.tensorflow.contrib.tensorboard.plugins.projector.projector_config_pb2 import (
    ProjectorConfig,
)  # noqa: F401
from braid.tensorflow.contrib.tensorboard.plugins.projector.projector_config_pb2 import (
    SpriteMetadata,
)  # noqa: F401
from braid.tensorflow.python.lib.io import file_io


def visualize_embeddings(summary_writer, config):
    """Writes a ProjectorConfig to projector_config.pbtxt in the directory of a FileWriter.

    ValueError: it has none.
    """
    logdir = summary_writer.get_logdir()
    if logdir is None:
        raise ValueError("Summary writer must have a logdir")
    path = os.path.join(logdir, "projector_config.pbtxt")
    file_io.write_string_to_file(path, text_format.MessageToString(config))
