"""The message of a SavedModel and its tags, read without its graph."""

import os

from google.protobuf import message
from google.protobuf import text_format

from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.saved_model import constants
from braid.tensorflow.python.util import compat


def read_saved_model(saved_model_dir):
    """The SavedModel of a directory. IOError: there is none, or it cannot be read."""
    from braid import protos

    folder, saved_model = compat.as_str_any(saved_model_dir), protos.SavedModel()
    binary = os.path.join(folder, constants.SAVED_MODEL_FILENAME_PB)
    text = os.path.join(folder, constants.SAVED_MODEL_FILENAME_PBTXT)
    if file_io.file_exists(binary):
        try:
            saved_model.ParseFromString(file_io.read_file_to_string(binary, binary_mode=True))
        except message.DecodeError as error:
            raise IOError(f"Cannot parse file {binary}: {error}.") from error
    elif file_io.file_exists(text):
        try:
            text_format.Merge(file_io.read_file_to_string(text), saved_model)
        except text_format.ParseError as error:
            raise IOError(f"Cannot parse file {text}: {error}.") from error
    else:
        raise IOError(f"SavedModel file does not exist at: {saved_model_dir}")
    return saved_model


def get_saved_model_tag_sets(saved_model_dir):
    """[the tags of each graph] of the SavedModel of a directory."""
    return [list(graph.meta_info_def.tags) for graph in read_saved_model(saved_model_dir).meta_graphs]
