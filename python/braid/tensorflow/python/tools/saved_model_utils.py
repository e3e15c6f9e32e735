"""What is in a SavedModel."""

import os

from google.protobuf import message, text_format

from braid import protos
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.saved_model import constants
from braid.tensorflow.python.util import compat


def read_saved_model(saved_model_dir):
    """The SavedModel message of a directory. IOError: there is none, or it cannot be read."""
    for name in (constants.SAVED_MODEL_FILENAME_PB, constants.SAVED_MODEL_FILENAME_PBTXT):
        path = os.path.join(compat.as_str(saved_model_dir), compat.as_str(name))
        if not file_io.file_exists(path):
            continue
        with file_io.FileIO(path, "rb") as f:
            content = f.read()
        made = protos.SavedModel()
        try:
            if path.endswith(".pb"):
                made.ParseFromString(content)
            else:
                text_format.Merge(content.decode("utf-8"), made)
        except (message.DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
            raise OSError(f"Cannot parse file {path}: {error}.") from error
        return made
    raise OSError(f"SavedModel file does not exist at: {saved_model_dir}")


def get_saved_model_tag_sets(saved_model_dir):
    """The lists of tags of the graphs in a SavedModel."""
    return [list(graph.meta_info_def.tags) for graph in read_saved_model(saved_model_dir).meta_graphs]


def get_meta_graph_def(saved_model_dir, tag_set):
    """The MetaGraphDef that has just the tags of tag_set, a string with commas. RuntimeError: none has."""
    for graph in read_saved_model(saved_model_dir).meta_graphs:
        if set(graph.meta_info_def.tags) == set(tag_set.split(",")):
            return graph
    raise RuntimeError(f"MetaGraphDef associated with tag-set {tag_set} could not be found in SavedModel")
