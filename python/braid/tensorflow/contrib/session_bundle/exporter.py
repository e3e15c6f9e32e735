"""Exports a model: its graph, variables, signatures and other files, in a directory for each version."""

import os
import re

from google.protobuf.any_pb2 import Any

from braid.tensorflow.contrib.session_bundle import constants, gc, manifest_pb2
from braid.tensorflow.core.framework import graph_pb2
from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.platform import gfile
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import saver as tf_saver
from braid.tensorflow.python.training import training_util
from braid.tensorflow.python.util import compat


def gfile_copy_callback(files_to_copy, export_dir_path):
    """Copies files to a directory: {path: name there}."""
    logging.info("Write assets into: %s using gfile_copy.", export_dir_path)
    gfile.MakeDirs(export_dir_path)
    for path, name in files_to_copy.items():
        target = os.path.join(compat.as_bytes(export_dir_path), compat.as_bytes(name))
        logging.info("Copying asset %s to path %s.", path, target)
        gfile.Copy(path, target, overwrite=True)


def regression_signature(input_tensor, output_tensor):
    signature = manifest_pb2.Signature()
    signature.regression_signature.input.tensor_name = input_tensor.name
    signature.regression_signature.output.tensor_name = output_tensor.name
    return signature


def classification_signature(input_tensor, classes_tensor=None, scores_tensor=None):
    signature = manifest_pb2.Signature()
    signature.classification_signature.input.tensor_name = input_tensor.name
    if classes_tensor is not None:
        signature.classification_signature.classes.tensor_name = classes_tensor.name
    if scores_tensor is not None:
        signature.classification_signature.scores.tensor_name = scores_tensor.name
    return signature


def generic_signature(name_tensor_map):
    """A signature of tensors by name."""
    signature = manifest_pb2.Signature()
    for name, tensor in name_tensor_map.items():
        signature.generic_signature.map[name].tensor_name = tensor.name
    return signature


def _packed(message):
    packed = Any()
    packed.Pack(message)
    return packed


class Exporter:
    """Exports what a Saver saves. init() once for the graph, then export() for each version."""

    def __init__(self, saver):
        saver_def = saver.as_saver_def()
        saver_def.ClearField("max_to_keep")  # export() deletes old versions
        self._saver = tf_saver.Saver(saver_def=saver_def)
        self._has_init = False
        self._assets_to_copy = {}

    def init(
        self,
        graph_def=None,
        init_op=None,
        clear_devices=False,
        default_graph_signature=None,
        named_graph_signatures=None,
        assets_collection=None,
        assets_callback=gfile_copy_callback,
    ):
        """Adds what a server has to know to collections of the default graph.

        graph_def: of the graph to serve, by default the default graph's. init_op: runs after the variables
        are restored. clear_devices: nodes of the graph have no devices. The signatures are those of the
        functions above. assets_collection: constants with paths of files, which
        assets_callback({path: name}, directory) brings to the export; the nodes are fed with the new paths.

        Raises:
          RuntimeError: a second call.
          TypeError: init_op is no operation, or an asset no scalar constant of strings.
          ValueError: an asset's path is empty.
        """
        assets = [(_file_of(tensor), tensor) for tensor in assets_collection or []]
        self._assets_to_copy.update((path, os.path.basename(path)) for path, _ in assets)
        if self._has_init:
            raise RuntimeError("init should be called only once")
        self._has_init = True
        if graph_def or clear_devices:
            copy = graph_pb2.GraphDef()
            copy.CopyFrom(graph_def or ops.get_default_graph().as_graph_def())
            for node in copy.node if clear_devices else ():
                node.device = ""
            ops.add_to_collection(constants.GRAPH_KEY, _packed(copy))
        if init_op:
            if not isinstance(init_op, ops.Operation):
                raise TypeError("init_op needs to be an Operation: %s" % init_op)
            ops.add_to_collection(constants.INIT_OP_KEY, init_op)
        signatures = manifest_pb2.Signatures()
        if default_graph_signature:
            signatures.default_signature.CopyFrom(default_graph_signature)
        for name, signature in (named_graph_signatures or {}).items():
            signatures.named_signatures[name].CopyFrom(signature)
        ops.add_to_collection(constants.SIGNATURES_KEY, _packed(signatures))
        for path, tensor in assets:
            asset = manifest_pb2.AssetFile(filename=os.path.basename(path))
            asset.tensor_binding.tensor_name = tensor.name
            ops.add_to_collection(constants.ASSETS_KEY, _packed(asset))
        self._assets_callback = assets_callback

    def export(self, export_dir_base, global_step_tensor, sess=None, exports_to_keep=None):
        """Exports a version, whose number is the global step, to a directory of that name.

        The directory appears when it is complete. exports_to_keep: a filter of `gc`; the exports that it does
        not keep are deleted. Returns the directory.

        Raises:
          RuntimeError: init() was not called, or the directory exists.
        """
        if not self._has_init:
            raise RuntimeError("init must be called first")
        base = compat.as_text(export_dir_base)
        base = base[:-1] if base.endswith("/") else base
        step = training_util.global_step(sess, global_step_tensor)
        export_dir = os.path.join(base, constants.VERSION_FORMAT_SPECIFIER % step)
        if gfile.Exists(export_dir):
            raise RuntimeError(
                "Overwriting exports can cause corruption and are not allowed. Duplicate export dir: %s"
                % export_dir
            )
        unfinished = export_dir + "-tmp"
        gfile.MakeDirs(unfinished)
        self._saver.save(
            sess,
            os.path.join(unfinished, constants.EXPORT_BASE_NAME),
            meta_graph_suffix=constants.EXPORT_SUFFIX_NAME,
        )
        if self._assets_callback and self._assets_to_copy:
            assets = os.path.join(unfinished, constants.ASSETS_DIRECTORY)
            gfile.MakeDirs(assets)
            self._assets_callback(self._assets_to_copy, compat.as_bytes(assets))
        gfile.Rename(unfinished, export_dir)
        if exports_to_keep:
            for p in gc.negation(exports_to_keep)(gc.get_paths(base, parser=_version_of)):
                gfile.DeleteRecursively(p.path)
        return compat.as_bytes(export_dir)


def _version_of(path):
    match = re.fullmatch(r"\d{8}", os.path.basename(path.path))
    return path._replace(export_version=int(match.group())) if match else None


def _file_of(tensor):
    if not isinstance(tensor, ops.Tensor):
        raise TypeError("tensor is not a Tensor")
    if tensor.op.type != "Const":
        raise TypeError("Only constants tensor are supported")
    if tensor.dtype != dtypes.string:
        raise TypeError("File paths should be string")
    values = tensor.op.get_attr("value").string_val
    if len(values) != 1:
        raise TypeError("Only scalar tensors are supported")
    if not values[0]:
        raise ValueError("invalid asset filepath tensor %s" % tensor)
    return values[0]
