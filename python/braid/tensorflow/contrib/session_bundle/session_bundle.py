"""Loads a model that an Exporter has exported."""

import os

from braid.tensorflow.contrib.session_bundle import constants, manifest_pb2
from braid.tensorflow.core.protobuf import meta_graph_pb2
from braid.tensorflow.python.client import session
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.training import saver as saver_lib


def maybe_session_bundle_dir(export_dir):
    """Whether a directory has the meta graph of an exported model."""
    return file_io.file_exists(os.path.join(export_dir, constants.META_GRAPH_DEF_FILENAME))


def load_session_bundle_from_path(export_dir, target="", config=None, meta_graph_def=None):
    """Builds the graph of an exported model as the new default graph, restores its variables and runs its
    initial op.

    target, config: of the session. meta_graph_def: in place of the one in export_dir.

    Returns:
      The session and the MetaGraphDef.

    Raises:
      RuntimeError: files are missing, or collections of the meta graph are malformed.
    """
    if not meta_graph_def:
        meta_graph_def = _read_meta_graph(os.path.join(export_dir, constants.META_GRAPH_DEF_FILENAME))
    collections = meta_graph_def.collection_def
    if constants.GRAPH_KEY in collections:
        graphs = collections[constants.GRAPH_KEY].any_list.value
        _check_one(graphs, "GraphDef", meta_graph_def)
        graphs[0].Unpack(meta_graph_def.graph_def)
    ops.reset_default_graph()
    sess = session.Session(target, graph=None, config=config)
    saver = saver_lib.import_meta_graph(meta_graph_def)
    variables = _variables_of(export_dir)
    if variables:
        saver.restore(sess, os.path.join(export_dir, variables))
    if constants.INIT_OP_KEY in collections:
        _check_one(collections[constants.INIT_OP_KEY].node_list.value, "init op", meta_graph_def)
        sess.run(ops.get_collection(constants.INIT_OP_KEY), _assets_of(collections, export_dir))
    return sess, meta_graph_def


def _read_meta_graph(path):
    if not file_io.file_exists(path):
        raise RuntimeError("Expected meta graph file missing %s" % path)
    return meta_graph_pb2.MetaGraphDef.FromString(file_io.read_file_to_string(path, binary_mode=True))


def _check_one(values, what, meta_graph_def):
    if len(values) != 1:
        raise RuntimeError("Expected exactly one serving %s in : %s" % (what, meta_graph_def))


def _variables_of(export_dir):
    """The name, or pattern of names, of the checkpoint; "": there is none."""

    def has(pattern):
        return bool(file_io.get_matching_files(os.path.join(export_dir, pattern)))

    if has(constants.VARIABLES_INDEX_FILENAME_V2):
        return constants.VARIABLES_FILENAME if has(constants.VARIABLES_FILENAME_PATTERN_V2) else ""
    for pattern in (constants.VARIABLES_FILENAME, constants.VARIABLES_FILENAME_PATTERN):
        if has(pattern):
            return pattern
    return ""


def _assets_of(collections, export_dir):
    """What the initial op is fed with: the paths of the assets."""
    paths = {}
    for packed in (
        collections[constants.ASSETS_KEY].any_list.value if constants.ASSETS_KEY in collections else ()
    ):
        asset = manifest_pb2.AssetFile()
        packed.Unpack(asset)
        paths[asset.tensor_binding.tensor_name] = os.path.join(
            export_dir, constants.ASSETS_DIRECTORY, asset.filename
        )
    return paths
