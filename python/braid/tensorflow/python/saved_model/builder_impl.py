"""Writing saved models: directories with graphs, their signatures, one checkpoint, and other files."""

import filecmp
import os

from google.protobuf import text_format

from braid import protos
from braid.tensorflow.python.framework import dtypes, ops, tensor_util
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.saved_model import constants
from braid.tensorflow.python.saved_model import signature_def_utils_impl
from braid.tensorflow.python.saved_model import utils_impl as saved_model_utils
from braid.tensorflow.python.training import saver as tf_saver
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["saved_model.Builder", "saved_model.builder.SavedModelBuilder"])
class SavedModelBuilder:
    """Writes a saved model: the first graph with the variables' values, then other graphs of the same
    variables.

    builder = tf.saved_model.Builder(export_dir)
    builder.add_meta_graph_and_variables(sess, [tf.saved_model.SERVING], {"predict": signature})
    builder.save()
    """

    def __init__(self, export_dir):
        """AssertionError: the directory has something in it."""
        self._saved_model = protos.SavedModel()
        self._saved_model.saved_model_schema_version = constants.SAVED_MODEL_SCHEMA_VERSION
        self._export_dir = os.fsdecode(export_dir)
        if file_io.file_exists(self._export_dir):
            if file_io.list_directory(self._export_dir):
                raise AssertionError(
                    f"Export directory {export_dir} already exists, and isn't empty. Please choose a different "
                    "export directory, or delete all the contents of the specified directory."
                )
        else:
            file_io.recursive_create_dir(self._export_dir)
        self._has_saved_variables = False

    def _save_and_write_assets(self, assets_collection_to_add=None):
        """Copies the files that tensors of the collection name, and lists them in the graph."""
        for message in self._copy_assets(assets_collection_to_add):
            _pack(ops.get_default_graph().get_collection_ref(constants.ASSETS_KEY), message)

    def _copy_assets(self, tensors):
        """Copies the files that tensors name; the AssetFileDefs of the tensors."""
        names, messages = {}, []  # of the copies, by the paths of the files
        for tensor in tensors or ():
            path = _asset_path_from_tensor(tensor)
            name = _get_unique_asset_filename(path, names)
            names[path] = name
            message = protos.AssetFileDef(filename=name)
            message.tensor_info.name = tensor.name
            messages.append(message)
        if not names:
            logging.info("No assets to write.")
            return messages
        directory = saved_model_utils.get_or_create_assets_dir(self._export_dir)
        for path, name in names.items():
            target = os.path.join(directory, name)
            if not file_io.file_exists(target):
                file_io.copy(path, target)
        logging.info("Assets written to: %s", directory)
        return messages

    def _tag_and_add_meta_graph(self, meta_graph_def, tags, signature_def_map):
        for tag in tags:
            meta_graph_def.meta_info_def.tags.append(tag)
        for key, signature in (signature_def_map or {}).items():
            meta_graph_def.signature_def[key].CopyFrom(signature)
        self._saved_model.meta_graphs.add().CopyFrom(meta_graph_def)

    def _validate_tensor_info(self, tensor_info):
        if tensor_info is None:
            raise AssertionError(
                "All TensorInfo protos used in the SignatureDefs must have the name and dtype fields set."
            )
        if tensor_info.WhichOneof("encoding") is None:
            raise AssertionError(
                f"All TensorInfo protos used in the SignatureDefs must have one of the 'encoding' fields set: {tensor_info}"
            )
        if tensor_info.WhichOneof("encoding") == "composite_tensor":
            for component in tensor_info.composite_tensor.components:
                self._validate_tensor_info(component)
        elif tensor_info.dtype == 0:
            raise AssertionError(
                f"All TensorInfo protos used in the SignatureDefs must have the dtype field set: {tensor_info}"
            )

    def _validate_signature_def_map(self, signature_def_map):
        for key, signature in (signature_def_map or {}).items():
            if key in (constants.INIT_OP_SIGNATURE_KEY, constants.TRAIN_OP_SIGNATURE_KEY):
                raise KeyError(
                    f'SignatureDef map key "{key}" is reserved for initialization. Please use a different key.'
                )
            for info in [*signature.inputs.values(), *signature.outputs.values()]:
                self._validate_tensor_info(info)

    def _maybe_create_saver(self, saver=None):
        if saver:
            return saver
        return tf_saver.Saver(
            variables._all_saveable_objects(),
            sharded=True,
            write_version=protos.SaverDef.V2,
            allow_empty=True,
        )

    def _add_collections(self, assets_collection, main_op, train_op):
        self._save_and_write_assets(assets_collection)
        if main_op is not None:
            if not isinstance(main_op, ops.Operation):
                raise TypeError(f"main_op needs to be an Operation: {main_op!r}")
            for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
                if ops.get_collection(key):
                    raise ValueError(
                        f"Graph already contains one or more main ops under the collection {key}."
                    )
            ops.add_to_collection(constants.MAIN_OP_KEY, main_op)
        if train_op is not None:
            if not isinstance(train_op, (ops.Tensor, ops.Operation)):
                raise TypeError(f"train_op needs to be a Tensor or Op: {train_op!r}")
            ops.add_to_collection(constants.TRAIN_OP_KEY, train_op)

    def add_meta_graph(
        self,
        tags,
        signature_def_map=None,
        assets_collection=None,
        legacy_init_op=None,
        clear_devices=False,
        main_op=None,
        strip_default_attrs=False,
        saver=None,
    ):
        """Adds the default graph. AssertionError: the variables are not saved yet
        (add_meta_graph_and_variables).
        """
        if not self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. "
                "Please invoke `add_meta_graph_and_variables()` first."
            )
        self._add_graph(
            tags,
            signature_def_map,
            assets_collection,
            main_op if main_op is not None else legacy_init_op,
            clear_devices,
            strip_default_attrs,
            saver,
            None,
        )

    def add_meta_graph_and_variables(
        self,
        sess,
        tags,
        signature_def_map=None,
        assets_collection=None,
        legacy_init_op=None,
        clear_devices=False,
        main_op=None,
        strip_default_attrs=False,
        saver=None,
    ):
        """Adds the default graph, and saves the session's variables.

        tags: of the graph, by which loading finds it. signature_def_map: SignatureDefs by name.
        assets_collection: string tensors with the paths of files to copy. main_op: run when the model is
        loaded. saver: None for one of all variables. AssertionError: variables were saved before.
        """
        if self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. "
                "Please invoke `add_meta_graph()` instead."
            )
        self._add_graph(
            tags,
            signature_def_map,
            assets_collection,
            main_op if main_op is not None else legacy_init_op,
            clear_devices,
            strip_default_attrs,
            saver,
            sess,
        )
        self._has_saved_variables = True

    def _add_graph(self, tags, signatures, assets, main_op, clear_devices, strip_default_attrs, saver, sess):
        self._validate_signature_def_map(signatures)
        self._add_collections(assets, main_op, None)
        saver = self._maybe_create_saver(saver)
        if sess is not None:
            saved_model_utils.get_or_create_variables_dir(self._export_dir)
            path = saved_model_utils.get_variables_path(self._export_dir)
            saver.save(sess, path, write_meta_graph=False, write_state=False)
        graph = saver.export_meta_graph(clear_devices=clear_devices, strip_default_attrs=strip_default_attrs)
        self._tag_and_add_meta_graph(graph, tags, signatures)

    def save(self, as_text=False):
        """Writes the file saved_model.pb, or saved_model.pbtxt. Returns its path."""
        file_io.recursive_create_dir(self._export_dir)
        if as_text:
            path = os.path.join(self._export_dir, constants.SAVED_MODEL_FILENAME_PBTXT)
            content = text_format.MessageToString(self._saved_model).encode("utf-8")
        else:
            path = os.path.join(self._export_dir, constants.SAVED_MODEL_FILENAME_PB)
            content = self._saved_model.SerializeToString()
        with file_io.FileIO(path, "wb") as f:
            f.write(content)
        logging.info("SavedModel written to: %s", path)
        return compat.as_bytes(path)


class _SavedModelBuilder(SavedModelBuilder):
    """A builder of models of the form that TensorFlow 2 reads: assets and operations that loading runs are in
    the graph's message and its signatures, not in collections."""

    def add_meta_graph(
        self,
        tags,
        signature_def_map=None,
        assets_list=None,
        clear_devices=False,
        init_op=None,
        train_op=None,
        saver=None,
    ):
        if not self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. "
                "Please invoke `add_meta_graph_and_variables()` first."
            )
        self._add_graph_of_2(
            tags, signature_def_map, assets_list, clear_devices, init_op, train_op, False, saver, None
        )

    def add_meta_graph_and_variables(
        self,
        sess,
        tags,
        signature_def_map=None,
        assets_list=None,
        clear_devices=False,
        init_op=None,
        train_op=None,
        strip_default_attrs=False,
        saver=None,
    ):
        if self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. "
                "Please invoke `add_meta_graph()` instead."
            )
        self._add_graph_of_2(
            tags,
            signature_def_map,
            assets_list,
            clear_devices,
            init_op,
            train_op,
            strip_default_attrs,
            saver,
            sess,
        )
        self._has_saved_variables = True

    def _add_graph_of_2(
        self, tags, signatures, assets, clear_devices, init_op, train_op, strip_default_attrs, saver, sess
    ):
        self._validate_signature_def_map(signatures)
        signatures = dict(signatures or {})
        for op, key in (
            (init_op, constants.INIT_OP_SIGNATURE_KEY),
            (train_op, constants.TRAIN_OP_SIGNATURE_KEY),
        ):
            if op is not None:
                signatures[key] = signature_def_utils_impl.op_signature_def(op, key)
        saver = self._maybe_create_saver(saver)
        if sess is not None:
            saved_model_utils.get_or_create_variables_dir(self._export_dir)
            path = saved_model_utils.get_variables_path(self._export_dir)
            saver.save(sess, path, write_meta_graph=False, write_state=False)
        graph = saver.export_meta_graph(clear_devices=clear_devices, strip_default_attrs=strip_default_attrs)
        for message in self._copy_assets(assets):
            graph.asset_file_def.add().CopyFrom(message)
        self._tag_and_add_meta_graph(graph, tags, signatures)


def _pack(collection, message):
    """Adds a message to a collection, as a google.protobuf.Any."""
    any_list = protos.CollectionDef().any_list
    packed = any_list.value.add(
        type_url=f"type.googleapis.com/{message.DESCRIPTOR.full_name}", value=message.SerializeToString()
    )
    collection.append(packed)


def _asset_path_from_tensor(path_tensor):
    """The path that a constant has. TypeError: it is no constant string."""
    if not isinstance(path_tensor, ops.Tensor):
        raise TypeError(f"Asset path tensor {path_tensor} must be a Tensor.")
    if path_tensor.op.type != "Const":
        raise TypeError(f"Asset path tensor {path_tensor} must be of type constant.")
    if path_tensor.dtype != dtypes.string:
        raise TypeError(f"Asset path tensor {path_tensor} must be of dtype string.")
    values = tensor_util.constant_value(path_tensor).reshape(-1)
    if len(values) != 1:
        raise TypeError(f"Asset path tensor {path_tensor} must be a scalar.")
    return compat.as_str(values[0])


def _get_unique_asset_filename(path, names):
    """The name of a file's copy, with a number where a file with another content has that name."""
    if path in names:
        return names[path]
    for other, name in names.items():
        if os.path.basename(other) == os.path.basename(path) and filecmp.cmp(other, path, shallow=False):
            return name
    base = os.path.basename(path)
    unique, index = base, 1
    while unique in names.values():
        unique = f"{base}_{index}"
        index += 1
    return unique
