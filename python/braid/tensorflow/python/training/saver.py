"""Savers: nodes that save and restore variables, and the files that they write."""

import collections
import os
import time
import uuid

import numpy as np

from braid import protos
from braid.tensorflow.python.client import session
from braid.tensorflow.python.framework import constant_op, errors, meta_graph, ops
from braid.tensorflow.python.framework import device as pydev
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.ops import (
    array_ops,
    control_flow_ops,
    gen_io_ops,
    gen_string_ops,
    variables,
)
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import checkpoint_management, py_checkpoint_reader, training_util
from braid.tensorflow.python.training.saving import saveable_object, saveable_object_util
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util.tf_export import tf_export

# Names that programs find here as well.
latest_checkpoint = checkpoint_management.latest_checkpoint
checkpoint_exists = checkpoint_management.checkpoint_exists
generate_checkpoint_state_proto = checkpoint_management.generate_checkpoint_state_proto
get_checkpoint_mtimes = checkpoint_management.get_checkpoint_mtimes
get_checkpoint_state = checkpoint_management.get_checkpoint_state
remove_checkpoint = checkpoint_management.remove_checkpoint
update_checkpoint_state = checkpoint_management.update_checkpoint_state

_V2 = protos.SaverDef.V2


class BaseSaverBuilder:
    """Builds the nodes of a saver. Programs may derive their own, and pass it to Saver."""

    SaveSpec = saveable_object.SaveSpec
    SaveableObject = saveable_object.SaveableObject
    VariableSaveable = saveable_object_util.ReferenceVariableSaveable
    ResourceVariableSaveable = saveable_object_util.ResourceVariableSaveable

    def __init__(self, write_version=_V2):
        self._write_version = write_version

    def save_op(self, filename_tensor, saveables):
        """The op that saves the saveables to a file."""
        specs = [spec for saveable in saveables for spec in saveable.specs]
        names = [spec.name for spec in specs]
        slices = [spec.slice_spec for spec in specs]
        tensors = [spec.tensor for spec in specs]
        if self._write_version == _V2:
            return gen_io_ops.save_v2(filename_tensor, names, slices, tensors)
        if any(slices):
            return gen_io_ops.save_slices(filename_tensor, names, slices, tensors, name="save")
        return gen_io_ops.save(filename_tensor, names, tensors, name="save")

    def bulk_restore(self, filename_tensor, saveables, preferred_shard, restore_sequentially):
        """The tensors of all specs of the saveables, each read by an op of its own."""
        tensors = []
        for saveable in saveables:
            device = saveable_object_util.set_cpu0(saveable.device) if saveable.device else None
            with ops.device(device):
                tensors.extend(self.restore_op(filename_tensor, saveable, preferred_shard))
        return tensors

    def restore_op(self, filename_tensor, saveable, preferred_shard):
        """The tensors of one saveable."""
        return [
            gen_io_ops.restore_v2(filename_tensor, [spec.name], [spec.slice_spec], [spec.dtype.base_dtype])[0]
            for spec in saveable.specs
        ]

    def sharded_filename(self, filename_tensor, shard, num_shards):
        """The name of a part's file."""
        return gen_io_ops.sharded_filename(filename_tensor, shard, num_shards)

    def _AddSaveOps(self, filename_tensor, saveables):
        """A tensor with the file's name, once the saveables are in it."""
        save = self.save_op(filename_tensor, saveables)
        return control_flow_ops.with_dependencies([save], filename_tensor)

    def _AddShardedSaveOpsForV2(self, checkpoint_prefix, per_device):
        """As _AddSaveOps: each device writes its part, in a directory that the merge removes."""
        suffix = f"_temp_{uuid.uuid4().hex}/part"
        temporary_prefix = gen_string_ops.string_join([checkpoint_prefix, suffix])
        num_shards = constant_op.constant(len(per_device), name="num_shards")
        saves, prefixes, last_device = [], [], None
        for shard, (device, saveables) in enumerate(per_device):
            last_device = device
            with ops.device(saveable_object_util.set_cpu0(device)):
                prefix = self.sharded_filename(temporary_prefix, shard, num_shards)
                prefixes.append(prefix)
                saves.append(self._AddSaveOps(prefix, saveables))
        with ops.control_dependencies([save.op for save in saves]):
            with ops.device(saveable_object_util.set_cpu0(last_device)):
                merge = gen_io_ops.merge_v2_checkpoints(prefixes, checkpoint_prefix, delete_old_dirs=True)
                with ops.control_dependencies([merge]):
                    return array_ops.identity(checkpoint_prefix)

    def _AddShardedSaveOps(self, filename_tensor, per_device):
        if self._write_version == _V2:
            return self._AddShardedSaveOpsForV2(filename_tensor, per_device)
        num_shards = constant_op.constant(len(per_device), name="num_shards")
        saves = []
        for shard, (device, saveables) in enumerate(per_device):
            with ops.device(device):
                saves.append(
                    self._AddSaveOps(self.sharded_filename(filename_tensor, shard, num_shards), saveables)
                )
        with ops.control_dependencies([save.op for save in saves]):
            return gen_io_ops.sharded_filespec(filename_tensor, num_shards)

    def _AddRestoreOps(
        self,
        filename_tensor,
        saveables,
        restore_sequentially,
        reshape,
        preferred_shard=-1,
        name="restore_all",
    ):
        """An op that restores the saveables."""
        tensors = list(self.bulk_restore(filename_tensor, saveables, preferred_shard, restore_sequentially))
        assigns = []
        for saveable in saveables:
            shapes = None
            if reshape:
                shapes = []
                for spec in saveable.specs:
                    shape = spec.tensor.get_shape()
                    shapes.append(shape if shape.is_fully_defined() else array_ops.shape(spec.tensor))
            restored, tensors = tensors[: len(saveable.specs)], tensors[len(saveable.specs) :]
            assigns.append(saveable.restore(restored, shapes))
        return control_flow_ops.group(*assigns, name=name)

    def _AddShardedRestoreOps(self, filename_tensor, per_device, restore_sequentially, reshape):
        restores = []
        for shard, (device, saveables) in enumerate(per_device):
            with ops.device(device):
                restores.append(
                    self._AddRestoreOps(
                        filename_tensor,
                        saveables,
                        restore_sequentially,
                        reshape,
                        preferred_shard=shard,
                        name="restore_shard",
                    )
                )
        return control_flow_ops.group(*restores, name="restore_all")

    def _GroupByDevices(self, saveables):
        """Pairs (device, its saveables), sorted by device."""
        per_device = collections.defaultdict(list)
        for saveable in saveables:
            devices = {pydev.canonical_name(spec.device) for spec in saveable.specs}
            if len(devices) != 1:
                raise ValueError(
                    f"All tensors of a saveable object must be on the same device: {saveable.name}"
                )
            per_device[devices.pop()].append(saveable)
        return sorted(per_device.items(), key=lambda item: item[0])

    def build(
        self,
        names_to_saveables,
        reshape=False,
        sharded=False,
        max_to_keep=5,
        keep_checkpoint_every_n_hours=10000.0,
        name=None,
        restore_sequentially=False,
        filename="model",
    ):
        """Adds the nodes to the graph. Returns the SaverDef that names them. The arguments are those of
        Saver.
        """
        return self._build_internal(
            names_to_saveables,
            reshape,
            sharded,
            max_to_keep,
            keep_checkpoint_every_n_hours,
            name,
            restore_sequentially,
            filename,
        )

    def _build_internal(
        self,
        names_to_saveables,
        reshape=False,
        sharded=False,
        max_to_keep=5,
        keep_checkpoint_every_n_hours=10000.0,
        name=None,
        restore_sequentially=False,
        filename="model",
        build_save=True,
        build_restore=True,
    ):
        saveables = saveable_object_util.validate_and_slice_inputs(names_to_saveables)
        if max_to_keep is None:
            max_to_keep = 0
        with ops.name_scope(name, "save", [saveable.op for saveable in saveables]) as name:
            filename_tensor = array_ops.placeholder_with_default(
                filename or "model", shape=(), name="filename"
            )
            # "Const" is the name that the first versions gave it, and that programs feed.
            filename_tensor = array_ops.placeholder_with_default(filename_tensor, shape=(), name="Const")
            save_tensor = restore_op = None
            per_device = self._GroupByDevices(saveables) if sharded else None
            if build_save:
                if sharded:
                    save_tensor = self._AddShardedSaveOps(filename_tensor, per_device)
                else:
                    save_tensor = self._AddSaveOps(filename_tensor, saveables)
            if build_restore:
                if sharded:
                    restore_op = self._AddShardedRestoreOps(
                        filename_tensor, per_device, restore_sequentially, reshape
                    )
                else:
                    restore_op = self._AddRestoreOps(
                        filename_tensor, saveables, restore_sequentially, reshape
                    )
        _name_partitioned_variables(ops.get_default_graph())
        return protos.SaverDef(
            filename_tensor_name=filename_tensor.name,
            save_tensor_name=save_tensor.name if build_save else "",
            restore_op_name=restore_op.name if build_restore else "",
            max_to_keep=max_to_keep,
            sharded=sharded,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            version=self._write_version,
        )


def _name_partitioned_variables(graph):
    """Has a tensor of the name of each partitioned variable in a collection: a MetaGraph has it by its name."""
    for key in graph.get_all_collection_keys():
        for element in graph.get_collection(key):
            if isinstance(element, variables.PartitionedVariable):
                try:
                    graph.get_operation_by_name(element.name)
                except KeyError:
                    element.as_tensor()


class BulkSaverBuilder(BaseSaverBuilder):
    """Reads all tensors of a file by one op."""

    def bulk_restore(self, filename_tensor, saveables, preferred_shard, restore_sequentially):
        specs = [spec for saveable in saveables for spec in saveable.specs]
        with ops.device("cpu:0"):
            return gen_io_ops.restore_v2(
                filename_tensor,
                [spec.name for spec in specs],
                [spec.slice_spec for spec in specs],
                [spec.dtype.base_dtype for spec in specs],
            )


def _get_saver_or_default():
    """The saver of the graph's collection, or a new one of all variables, which is added to it."""
    key = ops.GraphKeys.SAVERS
    savers = ops.get_collection(key)
    if len(savers) > 1:
        raise RuntimeError(
            f"More than one item in collection {key}. "
            "Please indicate which one to use by passing it to the constructor."
        )
    if savers:
        return savers[0]
    saver = Saver(sharded=True, allow_empty=True)
    ops.add_to_collection(key, saver)
    return saver


def _allow_files(path):
    """Lets the servers of this process use the directory of a checkpoint."""
    from braid.tensorflow.python.training import server_lib

    server_lib._allow_files(os.path.dirname(path) or ".")


@tf_export(v1=["train.Saver"])
class Saver:
    """Saves variables to checkpoints, and restores them."""

    def __init__(
        self,
        var_list=None,
        reshape=False,
        sharded=False,
        max_to_keep=5,
        keep_checkpoint_every_n_hours=10000.0,
        name=None,
        restore_sequentially=False,
        saver_def=None,
        builder=None,
        defer_build=False,
        allow_empty=False,
        write_version=_V2,
        pad_step_number=False,
        save_relative_paths=False,
        filename=None,
    ):
        """Adds the nodes to the graph, unless saver_def names them.

        var_list: a list of variables (or SaveableObjects), or a dict of them by their names in the
        checkpoint; None for all that can be saved. ValueError: there are none (unless allow_empty), or two
        have one name. reshape: a tensor of another shape with as many elements is accepted. sharded: each
        device writes its own part. max_to_keep: older checkpoints are deleted; None or 0 for none.
        keep_checkpoint_every_n_hours: one in so many hours stays for ever. name: of the scope of the nodes.
        defer_build: build() adds the nodes, by then of all variables. pad_step_number: steps in names have 8
        digits. save_relative_paths: the file `checkpoint` has paths relative to its directory.
        """
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. "
                "Either set defer_build=False or var_list=None."
            )
        self._var_list = var_list
        self._reshape = reshape
        self._sharded = sharded
        self._max_to_keep = max_to_keep
        self._keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self._name = name
        self._restore_sequentially = restore_sequentially
        self.saver_def = saver_def
        self._builder = builder
        self._is_built = False
        self._allow_empty = allow_empty
        self._is_empty = None
        self._write_version = write_version
        self._pad_step_number = pad_step_number
        self._filename = filename
        self._last_checkpoints = []  # pairs (prefix, when it was saved), the oldest first
        self._checkpoints_to_be_deleted = []
        self._save_relative_paths = save_relative_paths
        self._savers_of_objects = {}  # by checkpoint
        self._next_checkpoint_time = time.time() + keep_checkpoint_every_n_hours * 3600
        if not defer_build:
            self.build()
        if self.saver_def:
            self._check_saver_def()
            self._write_version = self.saver_def.version

    def build(self):
        """Adds the nodes to the graph, once."""
        self._build(self._filename, build_save=True, build_restore=True)

    def _build(self, checkpoint_path, build_save, build_restore):
        if self._is_built:
            return
        self._is_built = True
        if not self.saver_def:
            if self._builder is None:
                self._builder = BulkSaverBuilder(self._write_version)
            if self._var_list is None:
                self._var_list = variables._all_saveable_objects()
            if not self._var_list:
                if not self._allow_empty:
                    raise ValueError("No variables to save")
                self._is_empty = True
                return
            self._is_empty = False
            self.saver_def = self._builder._build_internal(
                self._var_list,
                reshape=self._reshape,
                sharded=self._sharded,
                max_to_keep=self._max_to_keep,
                keep_checkpoint_every_n_hours=self._keep_checkpoint_every_n_hours,
                name=self._name,
                restore_sequentially=self._restore_sequentially,
                filename=checkpoint_path,
                build_save=build_save,
                build_restore=build_restore,
            )
        elif self._name:
            # The nodes were imported below a scope.
            given, self.saver_def = self.saver_def, protos.SaverDef()
            self.saver_def.CopyFrom(given)
            for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
                setattr(self.saver_def, field, ops.prepend_name_scope(getattr(given, field), self._name))
        self._check_saver_def()
        self._next_checkpoint_time = time.time() + self.saver_def.keep_checkpoint_every_n_hours * 3600

    def _check_saver_def(self):
        if not isinstance(self.saver_def, protos.SaverDef):
            raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {self.saver_def}")
        for field in ("save_tensor_name", "restore_op_name"):
            if not getattr(self.saver_def, field):
                raise ValueError(f"saver_def must specify the {field}: {self.saver_def}")

    def _CheckpointFilename(self, p):
        return p[0]

    def _RecordLastCheckpoint(self, latest_save_path):
        """Notes the newest checkpoint; one that is now too many is to be deleted."""
        if not self.saver_def.max_to_keep:
            return
        for p in self._last_checkpoints[:]:
            if latest_save_path == self._CheckpointFilename(p):
                self._last_checkpoints.remove(p)
        self._last_checkpoints.append((latest_save_path, time.time()))
        if len(self._last_checkpoints) > self.saver_def.max_to_keep:
            self._checkpoints_to_be_deleted.append(self._last_checkpoints.pop(0))

    def _MaybeDeleteOldCheckpoints(self, meta_graph_suffix="meta"):
        """Deletes the oldest checkpoint that is too many, or lets it stay for ever."""
        if not self._checkpoints_to_be_deleted:
            return
        p = self._checkpoints_to_be_deleted.pop(0)
        if p[1] > self._next_checkpoint_time:
            self._next_checkpoint_time += self.saver_def.keep_checkpoint_every_n_hours * 3600
            return
        try:
            checkpoint_management.remove_checkpoint(
                self._CheckpointFilename(p), self.saver_def.version, meta_graph_suffix
            )
        except Exception as e:
            logging.warning("Ignoring: %s", str(e))

    def as_saver_def(self):
        return self.saver_def

    def to_proto(self, export_scope=None):
        """The SaverDef, with names relative to a scope; None when the nodes are not in that scope."""
        if export_scope is None:
            return self.saver_def
        fields = ("filename_tensor_name", "save_tensor_name", "restore_op_name")
        if not all(getattr(self.saver_def, field).startswith(export_scope) for field in fields):
            return None
        stripped = protos.SaverDef()
        stripped.CopyFrom(self.saver_def)
        for field in fields:
            setattr(stripped, field, ops.strip_name_scope(getattr(stripped, field), export_scope))
        return stripped

    @staticmethod
    def from_proto(saver_def, import_scope=None):
        """The saver of nodes that are in the graph. import_scope: the scope that they were imported below."""
        return Saver(saver_def=saver_def, name=import_scope)

    @property
    def last_checkpoints(self):
        """The prefixes of the checkpoints that are not deleted yet, the oldest first."""
        return [self._CheckpointFilename(p) for p in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints):
        """Sets the list of checkpoints that max_to_keep is about. Without their times none of them stays for
        ever.
        """
        assert isinstance(last_checkpoints, list)
        self._last_checkpoints = [(path, np.inf) for path in last_checkpoints]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time):
        """As set_last_checkpoints, by pairs (prefix, when it was saved)."""
        assert isinstance(last_checkpoints_with_time, list)
        self._last_checkpoints = last_checkpoints_with_time

    def recover_last_checkpoints(self, checkpoint_paths):
        """Goes on with the checkpoints of a former process, those that exist."""
        found = []
        for path in checkpoint_paths:
            times = checkpoint_management.get_checkpoint_mtimes([path])
            if times:
                found.append((path, times[0]))
        self.set_last_checkpoints_with_time(found)

    def _checkpoint_file(self, sess, save_path, global_step, latest_filename):
        """The prefix of a checkpoint: save_path, or save_path-STEP."""
        if global_step is None:
            if os.path.basename(save_path) == latest_filename and not self._sharded:
                raise ValueError(
                    f"'latest_filename' collides with 'save_path': '{latest_filename}' and '{save_path}'"
                )
            return save_path
        if not isinstance(global_step, compat.integral_types):
            global_step = training_util.global_step(sess, global_step)
        return f"{save_path}-{global_step:08d}" if self._pad_step_number else f"{save_path}-{global_step:d}"

    def save(
        self,
        sess,
        save_path,
        global_step=None,
        latest_filename=None,
        meta_graph_suffix="meta",
        write_meta_graph=True,
        write_state=True,
        strip_default_attrs=False,
        save_debug_info=False,
    ):
        """Saves the variables of a session. Returns the checkpoint's prefix, or None with nothing to save.

        save_path: the prefix. global_step: a number, or a tensor, to add to it. latest_filename: the file
        that lists checkpoints, "checkpoint". write_meta_graph: also writes the graph, as PREFIX.meta.
        write_state: lists the checkpoint, and deletes old ones. ValueError: the directory does not exist.
        """
        if not self._is_built:
            raise RuntimeError("`build()` should be called before save if defer_build==True")
        if latest_filename is None:
            latest_filename = "checkpoint"
        if os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        save_path = compat.as_str(save_path)
        prefix = self._checkpoint_file(sess, save_path, global_step, latest_filename)
        if not isinstance(sess, session.SessionInterface):
            raise TypeError(f"'sess' must be a Session; {sess}")
        directory = os.path.dirname(save_path)
        saved = None
        if not self._is_empty:
            _allow_files(save_path)
            try:
                saved = compat.as_str(
                    sess.run(self.saver_def.save_tensor_name, {self.saver_def.filename_tensor_name: prefix})
                )
                if write_state:
                    self._RecordLastCheckpoint(saved)
                    checkpoint_management.update_checkpoint_state_internal(
                        save_dir=directory,
                        model_checkpoint_path=saved,
                        all_model_checkpoint_paths=self.last_checkpoints,
                        latest_filename=latest_filename,
                        save_relative_paths=self._save_relative_paths,
                    )
                    self._MaybeDeleteOldCheckpoints(meta_graph_suffix=meta_graph_suffix)
            except (errors.FailedPreconditionError, errors.NotFoundError, OSError):
                if not file_io.is_directory(directory or "."):
                    raise ValueError(f"Parent directory of {save_path} doesn't exist, can't save.") from None
                raise
        if write_meta_graph:
            filename = checkpoint_management.meta_graph_filename(prefix, meta_graph_suffix=meta_graph_suffix)
            with sess.graph.as_default():
                self.export_meta_graph(filename, strip_default_attrs=strip_default_attrs)
        return saved

    def export_meta_graph(
        self,
        filename=None,
        collection_list=None,
        as_text=False,
        export_scope=None,
        clear_devices=False,
        clear_extraneous_savers=False,
        strip_default_attrs=False,
        save_debug_info=False,
    ):
        """As tf.train.export_meta_graph, with this saver."""
        return export_meta_graph(
            filename=filename,
            graph_def=ops.get_default_graph().as_graph_def(add_shapes=True),
            saver_def=self.saver_def,
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
        )

    def restore(self, sess, save_path):
        """Gives the variables of a session the values of a checkpoint; they need not be initialized.

        ValueError: there is no such checkpoint. NotFoundError: it does not have a variable.
        InvalidArgumentError: a shape is another one.
        """
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        prefix = compat.as_text(save_path)
        if not checkpoint_management.checkpoint_exists_internal(prefix):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {prefix}")
        logging.info("Restoring parameters from %s", prefix)
        _allow_files(prefix)
        try:
            sess.run(self.saver_def.restore_op_name, {self.saver_def.filename_tensor_name: prefix})
        except errors.NotFoundError as e:
            if self._restore_by_objects(sess, prefix):
                return
            raise _wrap_restore_error_with_msg(
                e, "a Variable name or other graph key that is missing"
            ) from None
        except errors.InvalidArgumentError as e:
            raise _wrap_restore_error_with_msg(
                e, "a mismatch between the current graph and the graph"
            ) from None

    def _restore_by_objects(self, sess, prefix):
        """Restores from a checkpoint of tf.train.Checkpoint, which has the variables' names, too. Returns
        whether it is one.
        """
        try:
            keys = object_graph_key_mapping(prefix)
        except errors.NotFoundError:
            return False
        if prefix not in self._savers_of_objects:
            with sess.graph.as_default():
                self._savers_of_objects[prefix] = saver_from_object_based_checkpoint(
                    prefix, self._var_list, self._builder, keys
                )
        saver = self._savers_of_objects[prefix]
        sess.run(saver.saver_def.restore_op_name, {saver.saver_def.filename_tensor_name: prefix})
        return True

    @staticmethod
    def _add_collection_def(meta_graph_def, key, export_scope=None):
        meta_graph.add_collection_def(meta_graph_def, key, export_scope=export_scope)


def object_graph_key_mapping(checkpoint_path):
    """{name of a variable: its key} in a checkpoint of objects. NotFoundError: it is none."""
    from braid.tensorflow.python.training.tracking import base

    reader = py_checkpoint_reader.NewCheckpointReader(checkpoint_path)
    graph = protos.TrackableObjectGraph.FromString(
        compat.as_bytes(reader.get_tensor(base.OBJECT_GRAPH_PROTO_KEY))
    )
    return {a.full_name: a.checkpoint_key for node in graph.nodes for a in node.attributes}


def saver_from_object_based_checkpoint(checkpoint_path, var_list=None, builder=None, names_to_keys=None):
    """A saver of variables (None: of all) whose names are the keys of a checkpoint of objects.

    ValueError: it is no such checkpoint, or does not have one of them.
    """
    if names_to_keys is None:
        try:
            names_to_keys = object_graph_key_mapping(checkpoint_path)
        except errors.NotFoundError:
            raise ValueError("Checkpoint in %s not an object-based checkpoint." % checkpoint_path) from None
    if var_list is None:
        var_list = variables._all_saveable_objects()
    saveables = saveable_object_util.validate_and_slice_inputs(var_list)
    missing = [s.name for s in saveables if s.name not in names_to_keys]
    if missing:
        raise errors.NotFoundError(
            None,
            None,
            message=(
                f"Existing variables not in the checkpoint: {missing}\n\nVariable names in checkpoint: "
                f"{sorted(names_to_keys)}\n\nCould not find some variables in the checkpoint, which was written by "
                "tf.train.Checkpoint or tf.keras.Model.save_weights. Names of its variables may differ (by a '_1' at "
                "the end), or variables may be new."
            ),
        )
    for saveable in saveables:
        saveable.name = names_to_keys[saveable.name]
        for spec in saveable.specs:
            spec.name = names_to_keys.get(spec.name, spec.name)
    return Saver(saveables, builder=builder)


def _wrap_restore_error_with_msg(err, extra_verbiage):
    message = (
        f"Restoring from checkpoint failed. This is most likely due to {extra_verbiage} from the checkpoint. "
        "Please ensure that you have not altered the graph expected based on the checkpoint. "
        f"Original error:\n\n{err.message}"
    )
    return err.__class__(err.node_def, err.op, message)


@tf_export(v1=["train.import_meta_graph"])
def import_meta_graph(meta_graph_or_file, clear_devices=False, import_scope=None, **kwargs):
    """Adds a graph and its collections, of a MetaGraphDef or a file, to the default graph. Returns its
    saver, or None.

    import_scope: the scope of the new nodes. kwargs: of meta_graph.import_scoped_meta_graph.
    """
    return _import_meta_graph_with_return_elements(meta_graph_or_file, clear_devices, import_scope, **kwargs)[
        0
    ]


def _import_meta_graph_with_return_elements(
    meta_graph_or_file, clear_devices=False, import_scope=None, return_elements=None, **kwargs
):
    if isinstance(meta_graph_or_file, protos.MetaGraphDef):
        meta_graph_def = meta_graph_or_file
    elif hasattr(meta_graph_or_file, "SerializeToString"):  # of another copy of the messages
        meta_graph_def = protos.MetaGraphDef.FromString(meta_graph_or_file.SerializeToString())
    else:
        meta_graph_def = meta_graph.read_meta_graph_file(meta_graph_or_file)
    imported, elements = meta_graph.import_scoped_meta_graph_with_return_elements(
        meta_graph_def,
        clear_devices=clear_devices,
        import_scope=import_scope,
        return_elements=return_elements,
        **kwargs,
    )
    return _create_saver_from_imported_meta_graph(meta_graph_def, import_scope, imported), elements


def _create_saver_from_imported_meta_graph(meta_graph_def, import_scope, imported_vars):
    if meta_graph_def.HasField("saver_def"):
        scope = import_scope
        for name, variable in imported_vars.items():
            scope = variable.name[: -len(name)]  # made unique, if need be
            break
        return Saver(saver_def=meta_graph_def.saver_def, name=scope)
    if variables._all_saveable_objects(scope=import_scope):
        return Saver()
    logging.info("Saver not created because there are no variables in the graph to restore")
    return None


@tf_export(v1=["train.export_meta_graph"])
def export_meta_graph(
    filename=None,
    meta_info_def=None,
    graph_def=None,
    saver_def=None,
    collection_list=None,
    as_text=False,
    graph=None,
    export_scope=None,
    clear_devices=False,
    clear_extraneous_savers=False,
    strip_default_attrs=False,
    save_debug_info=False,
    **kwargs,
):
    """A MetaGraphDef of the graph, also as a file: nodes, collections, saver.

    export_scope: only the nodes of this scope, with names relative to it. clear_devices: without devices.
    clear_extraneous_savers: without the nodes of other savers. strip_default_attrs: without attributes that
    have their default value.
    """
    if kwargs:
        raise TypeError(f"export_meta_graph() got unexpected arguments: {', '.join(sorted(kwargs))}")
    return meta_graph.export_scoped_meta_graph(
        filename=filename,
        meta_info_def=meta_info_def,
        graph_def=graph_def,
        saver_def=saver_def,
        collection_list=collection_list,
        as_text=as_text,
        graph=graph,
        export_scope=export_scope,
        clear_devices=clear_devices,
        clear_extraneous_savers=clear_extraneous_savers,
        strip_default_attrs=strip_default_attrs,
    )[0]


ops.register_proto_function(
    ops.GraphKeys.SAVERS,
    proto_type=protos.SaverDef,
    to_proto=Saver.to_proto,
    from_proto=Saver.from_proto,
)
