"""Reading saved models."""

import os

from google.protobuf import text_format

from braid import protos
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.saved_model import constants
from braid.tensorflow.python.saved_model import signature_def_utils_impl as signature_def_utils
from braid.tensorflow.python.saved_model import utils_impl as saved_model_utils
from braid.tensorflow.python.training import saver as tf_saver
from braid.tensorflow.python.util.tf_export import tf_export


def parse_saved_model(export_dir):
    """The SavedModel of a directory. OSError: there is none, or it cannot be parsed."""
    export_dir = os.fsdecode(export_dir)
    binary = os.path.join(export_dir, constants.SAVED_MODEL_FILENAME_PB)
    text = os.path.join(export_dir, constants.SAVED_MODEL_FILENAME_PBTXT)
    saved_model = protos.SavedModel()
    if file_io.file_exists(binary):
        content = file_io.read_file_to_string(binary, binary_mode=True)
        try:
            saved_model.ParseFromString(content)
        except Exception as e:  # DecodeError, which versions of protobuf raise as different classes
            raise OSError(f"Cannot parse file {binary}: {e}.") from None
        return saved_model
    if file_io.file_exists(text):
        content = file_io.read_file_to_string(text)
        try:
            text_format.Merge(content, saved_model)
        except text_format.ParseError as e:
            raise OSError(f"Cannot parse file {text}: {e}.") from None
        return saved_model
    raise OSError(
        f"SavedModel file does not exist at: {export_dir}/"
        f"{{{constants.SAVED_MODEL_FILENAME_PBTXT}|{constants.SAVED_MODEL_FILENAME_PB}}}"
    )


def _get_main_op_tensor(meta_graph_def_to_load, init_op_key=constants.MAIN_OP_KEY):
    """The op of the graph that is run after loading, or None. RuntimeError: there are several."""
    if init_op_key not in meta_graph_def_to_load.collection_def:
        return None
    names = meta_graph_def_to_load.collection_def[init_op_key].node_list.value
    if len(names) != 1:
        raise RuntimeError(f"Expected exactly one SavedModel init op. Found: {list(names)}")
    return ops.get_collection(init_op_key)[0]


def get_init_op(meta_graph_def, import_scope=None):
    """The op that is run after loading, or None."""
    if constants.INIT_OP_SIGNATURE_KEY in meta_graph_def.signature_def:
        return signature_def_utils.load_op_from_signature_def(
            meta_graph_def.signature_def[constants.INIT_OP_SIGNATURE_KEY],
            constants.INIT_OP_SIGNATURE_KEY,
            import_scope,
        )
    main = _get_main_op_tensor(meta_graph_def, constants.MAIN_OP_KEY)
    return _get_main_op_tensor(meta_graph_def, constants.LEGACY_INIT_OP_KEY) if main is None else main


def get_train_op(meta_graph_def, import_scope=None):
    """The op of a training step, or None."""
    if constants.TRAIN_OP_SIGNATURE_KEY in meta_graph_def.signature_def:
        return signature_def_utils.load_op_from_signature_def(
            meta_graph_def.signature_def[constants.TRAIN_OP_SIGNATURE_KEY],
            constants.TRAIN_OP_SIGNATURE_KEY,
            import_scope,
        )
    return _get_main_op_tensor(meta_graph_def, constants.TRAIN_OP_KEY)


_parse_saved_model = parse_saved_model


def get_asset_tensors(export_dir, meta_graph_def_to_load, import_scope=None):
    """The paths of the model's copies of files, by the names of the tensors that have them."""
    # Graphs of tf.saved_model.save have them in a field, others in a collection.
    assets = list(meta_graph_def_to_load.asset_file_def)
    if not assets and constants.ASSETS_KEY in meta_graph_def_to_load.collection_def:
        packed = meta_graph_def_to_load.collection_def[constants.ASSETS_KEY].any_list.value
        assets = [protos.AssetFileDef.FromString(any_message.value) for any_message in packed]
    directory = saved_model_utils.get_assets_dir(export_dir)
    found = {}
    for asset in assets:
        name = asset.tensor_info.name
        found[f"{import_scope}/{name}" if import_scope else name] = os.path.join(directory, asset.filename)
    return found


@tf_export(
    v1=[
        "saved_model.contains_saved_model",
        "saved_model.maybe_saved_model_directory",
        "saved_model.loader.maybe_saved_model_directory",
    ]
)
def maybe_saved_model_directory(export_dir):
    """Whether a directory has the file of a saved model."""
    names = (constants.SAVED_MODEL_FILENAME_PBTXT, constants.SAVED_MODEL_FILENAME_PB)
    return any(file_io.file_exists(os.path.join(os.fsdecode(export_dir), name)) for name in names)


def contains_saved_model(export_dir):
    """Whether a directory has the file of a saved model."""
    return maybe_saved_model_directory(export_dir)


@tf_export(v1=["saved_model.load", "saved_model.loader.load"])
def load(sess, tags, export_dir, import_scope=None, **saver_kwargs):
    """Adds the graph with these tags to the session's graph, restores the variables, and runs the main op.

    Returns its MetaGraphDef. RuntimeError: there is no graph with exactly these tags. saver_kwargs: of
    tf.train.import_meta_graph.
    """
    return SavedModelLoader(export_dir).load(sess, tags, import_scope, **saver_kwargs)


class SavedModelLoader:
    """A saved model, and the steps of loading it."""

    def __init__(self, export_dir):
        self._export_dir = os.fsdecode(export_dir)
        self._variables_path = saved_model_utils.get_variables_path(self._export_dir)
        self._saved_model = parse_saved_model(self._export_dir)

    @property
    def export_dir(self):
        return self._export_dir

    @property
    def variables_path(self):
        """The prefix of the checkpoint."""
        return self._variables_path

    @property
    def saved_model(self):
        return self._saved_model

    def get_meta_graph_def_from_tags(self, tags):
        """The graph that has exactly these tags. RuntimeError: there is none."""
        tags = {tags} if isinstance(tags, str) else set(tags)
        for graph in self._saved_model.meta_graphs:
            if set(graph.meta_info_def.tags) == tags:
                return graph
        available = [list(graph.meta_info_def.tags) for graph in self._saved_model.meta_graphs]
        raise RuntimeError(
            f"MetaGraphDef associated with tags {sorted(tags)} could not be found in SavedModel. "
            f"The model has graphs with these tags: {available}"
        )

    def load_graph(self, graph, tags, import_scope=None, **saver_kwargs):
        """Adds the nodes to a graph. Returns (the saver, what saver_kwargs' return_elements names)."""
        meta_graph_def = self.get_meta_graph_def_from_tags(tags)
        with graph.as_default():
            return tf_saver._import_meta_graph_with_return_elements(
                meta_graph_def, import_scope=import_scope, **saver_kwargs
            )

    def restore_variables(self, sess, saver, import_scope=None):
        """Restores the variables, if the graph has any."""
        with sess.graph.as_default():
            if not saver and not variables._all_saveable_objects(scope=import_scope):
                logging.info("The specified SavedModel has no variables; no checkpoints were restored.")
            elif isinstance(saver, tf_saver.Saver):
                saver.restore(sess, self._variables_path)
            else:
                raise ValueError(
                    f"No tf.train.Saver object was passed to the function `restore_variables`: {saver}"
                )

    def run_init_ops(self, sess, tags, import_scope=None):
        """Runs the main op, if the graph has one, with the paths of the model's files."""
        meta_graph_def = self.get_meta_graph_def_from_tags(tags)
        with sess.graph.as_default():
            assets = get_asset_tensors(self._export_dir, meta_graph_def, import_scope)
            init_op = get_init_op(meta_graph_def, import_scope)
            if init_op is not None:
                sess.run(fetches=[init_op], feed_dict=assets)

    def load(self, sess, tags, import_scope=None, **saver_kwargs):
        """All of these steps. Returns the MetaGraphDef."""
        with sess.graph.as_default():
            saver, _ = self.load_graph(sess.graph, tags, import_scope, **saver_kwargs)
            self.restore_variables(sess, saver, import_scope)
            self.run_init_ops(sess, tags, import_scope)
        return self.get_meta_graph_def_from_tags(tags)
