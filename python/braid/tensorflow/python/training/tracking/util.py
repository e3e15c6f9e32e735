"""tf.train.Checkpoint: objects and their variables, saved and restored by the paths between them.

Restoring matches the graph of the objects, as it is now, with that of the checkpoint: from the roots on,
edges of the same name lead to what belongs together. It is done again whenever a status is asked, so that
objects which are made after `restore` get their values, too. Of two restores the later one gives an object
its values.
"""

import contextlib
import os
import weakref

from braid import protos
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import checkpoint_management
from braid.tensorflow.python.training import py_checkpoint_reader
from braid.tensorflow.python.training import saver as saver_lib
from braid.tensorflow.python.training.saving import functional_saver
from braid.tensorflow.python.training.saving import saveable_object_util
from braid.tensorflow.python.training.tracking import base
from braid.tensorflow.python.training.tracking import data_structures
from braid.tensorflow.python.training.tracking import graph_view as graph_view_lib
from braid.tensorflow.python.training.tracking import tracking
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util.tf_export import tf_export


def get_session():
    """The default session, or Keras'."""
    session = ops.get_default_session()
    if session is None:
        from braid.tensorflow.python.keras import backend

        session = backend.get_session()
    return session


def object_graph_of(reader):
    """The TrackableObjectGraph of a checkpoint. NotFoundError: it is one of names."""
    content = reader.get_tensor(base.OBJECT_GRAPH_PROTO_KEY)
    return protos.TrackableObjectGraph.FromString(content if isinstance(content, bytes) else content.item())


def object_metadata(save_path):
    """The graph of objects of a checkpoint. ValueError: it has none."""
    try:
        return object_graph_of(py_checkpoint_reader.NewCheckpointReader(save_path))
    except errors.NotFoundError:
        raise ValueError(
            f'The specified checkpoint "{save_path}" does not appear to be object-based (saved with '
            "tf.train.Checkpoint) since it is missing the key "
            f'"{base.OBJECT_GRAPH_PROTO_KEY}". Likely it was created with a name-based saver and does not '
            "contain an object dependency graph."
        ) from None


def list_objects(root_trackable):
    """The root, the objects below it, and their slots."""
    return graph_view_lib.ObjectGraphView(root_trackable).list_objects()


def gather_initializers(root_trackable):
    """The initializers of the objects that have one."""
    return [i for _, i in _initializers(list_objects(root_trackable))]


def _initializers(objects):
    """Pairs (object, its initializer)."""
    for obj in objects:
        try:
            initializer = getattr(obj, "initializer", None)
        except ValueError:  # an iterator that is not initialized by an op
            initializer = None
        if initializer is not None:
            yield obj, initializer


def add_variable(trackable, name, shape=None, dtype=dtypes.float32, initializer=None, trainable=True):
    """Makes a resource variable that an object depends on."""

    def getter(name, shape, dtype, initializer, **kwargs):
        dtype = dtypes.as_dtype(dtype)
        initializer = initializer() if isinstance(initializer, type) else initializer
        if initializer is None:
            initializer, _ = variable_scope._get_default_variable_store()._get_default_initializer(
                name=name, shape=shape, dtype=dtype
            )
        if not callable(initializer) and shape is not None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        value = (lambda: initializer(shape, dtype=dtype)) if callable(initializer) else initializer
        return variable_scope.variable(value, name=name, dtype=dtype, use_resource=True, **kwargs)

    return trackable._add_variable_with_custom_getter(
        name, shape, dtype, initializer, getter=getter, trainable=trainable
    )


@contextlib.contextmanager
def capture_dependencies(template):
    """Variables made within, in the variable scope of a template, become its dependencies, by their names
    below the scope.
    """
    from braid.tensorflow.python.ops import template as template_lib

    with template_lib.capture_dependencies(template, template.variable_scope.name):
        yield


class _Match:
    """Which objects of a snapshot are which of a checkpoint.

    bound: {number in the checkpoint: own number}. unused: {number in the checkpoint: [attribute]}.
    """

    def __init__(self, saved, own):
        self.saved, self.own = saved, own
        self.bound, self.unused, self.inconsistent = {0: 0}, {}, []
        todo = [0]
        for number in todo:  # the list grows
            children = dict(own.children.get(self.bound[number], ()))
            for child in saved.nodes[number].children:
                if child.local_name in children and self._bind(child.node_id, children[child.local_name]):
                    todo.append(child.node_id)
        for number, node in enumerate(saved.nodes):
            slots = {(v, name): slot for v, name, slot in own.slots.get(self.bound.get(number), ())}
            for s in node.slot_variables:
                slot = slots.get((self.bound.get(s.original_variable_node_id), s.slot_name))
                if slot is not None:
                    self._bind(s.slot_variable_node_id, slot)

    def _bind(self, theirs, mine):
        """Whether the pair is new."""
        if theirs not in self.bound:
            self.bound[theirs] = mine
            return True
        if self.bound[theirs] != mine:
            self.inconsistent.append((self.own.objects[self.bound[theirs]], self.own.objects[mine]))
        return False

    def create_dependencies(self):
        """Has objects that can do so (_create_dependency) make what only the checkpoint has. Returns whether
        there were some.
        """
        created = False
        for theirs, mine in self.bound.items():
            create = getattr(self.own.objects[mine], "_create_dependency", None)
            if create is None:
                continue
            known = {name for name, _ in self.own.children.get(mine, ())}
            for child in self.saved.nodes[theirs].children:
                if child.local_name not in known:
                    create(child.local_name)
                    created = True
        return created

    def missing(self):
        """[(object, name)] of what the checkpoint has below objects that have nothing of that name."""
        return [
            (self.own.objects[mine], child.local_name)
            for theirs, mine in self.bound.items()
            for child in self.saved.nodes[theirs].children
            if child.local_name not in dict(self.own.children.get(mine, ()))
        ]

    def object_of(self, number):
        mine = self.bound.get(number)
        return None if mine is None else self.own.objects[mine]

    def values(self, uid):
        """[(key, variable or SaveableObject)] of the objects that no later restore has given values, and that
        this one gives theirs."""
        found, seen = [], set()
        for theirs, mine in self.bound.items():
            obj, attributes = self.own.objects[mine], self.saved.nodes[theirs].attributes
            if data_structures.is_container(obj):
                continue
            keys = {a.name: a.checkpoint_key for a in attributes}
            own = self.own.saveables(mine, keys) if keys else {}
            lost = [a.name for a in attributes if a.name not in own and not a.optional_restore]
            if lost:
                self.unused[theirs] = lost
            if obj._update_uid <= uid and mine not in seen:
                obj._update_uid = uid
                seen.add(mine)
                found.extend(own.values())
        return found

    def names(self):
        """{number in the checkpoint: how messages call the object}."""
        names = {0: "(root)"}
        todo = [0]
        for number in todo:
            for child in self.saved.nodes[number].children:
                if child.node_id not in names:
                    names[child.node_id] = f"{names[number]}.{child.local_name}"
                    todo.append(child.node_id)
        for number, node in enumerate(self.saved.nodes):
            for s in node.slot_variables:
                names[
                    s.slot_variable_node_id
                ] = f"{names.get(number)}'s state '{s.slot_name}' for {names.get(s.original_variable_node_id)}"
        return names

    def unresolved(self):
        """Numbers of objects of the checkpoint that are not here, of those with values in or below them."""
        needed = {}

        def needs(number):
            if number not in needed:
                node, needed[number] = self.saved.nodes[number], False  # for cycles
                needed[number] = bool(node.attributes) or any(needs(c.node_id) for c in node.children)
            return needed[number]

        return [n for n in range(len(self.saved.nodes)) if n not in self.bound and needs(n)]

    def unmatched(self):
        """Own objects that are not in the checkpoint, without lists and dictionaries of no variables."""
        there = set(self.bound.values())
        return [
            obj
            for number, obj in enumerate(self.own.objects)
            if number not in there and not data_structures.is_container(obj) and not _is_empty(obj)
        ]


def _is_empty(obj):
    return isinstance(obj, data_structures.TrackableDataStructure) and not obj._checkpoint_dependencies


class _LoadStatus:
    """What `restore` returns: it checks what was found, and runs the ops."""

    def assert_consumed(self):
        """AssertionError: something of the checkpoint, or an object, found no counterpart."""
        raise NotImplementedError

    def assert_existing_objects_matched(self):
        """AssertionError: an object is not in the checkpoint."""
        return self.assert_consumed()

    def assert_nontrivial_match(self):
        """AssertionError: nothing but the root was found."""
        return self.assert_consumed()

    def run_restore_ops(self, session=None):
        """Gives the objects their values, in the session or the default one."""
        raise NotImplementedError

    def initialize_or_restore(self, session=None):
        """As run_restore_ops. Variables that the checkpoint has not are initialized."""
        self.run_restore_ops(session)

    def expect_partial(self):
        """Lets the checkpoint have more than the objects need, without a warning."""
        return self


class _PythonRestoration:
    """Gives state of Python its values from a checkpoint: at once, and that of objects that come later when
    they are tracked (base._deferred).
    """

    def __init__(self, view, reader, saved, uid):
        self._view, self._reader, self._saved, self._uid = view, reader, saved, uid
        self._restored = set()  # keys

    def __deepcopy__(self, memo):
        return self  # copies of the objects wait for the same checkpoint

    def find(self):
        """The match with the objects of now, and [(key, variable or SaveableObject)] of the others."""
        match = _Match(self._saved, self._view.snapshot())
        if match.create_dependencies():
            match = _Match(self._saved, self._view.snapshot())
        for obj, name in match.missing():
            if isinstance(obj, base.Trackable):
                base._deferred(obj)[name] = self.find
        values = []
        for key, saveable in match.values(self._uid):
            if not isinstance(saveable, base.PythonStateSaveable):
                values.append((key, saveable))
            elif key not in self._restored:
                self._restored.add(key)
                content = [self._reader.get_tensor(spec.name) for spec in saveable.specs]
                saveable.python_restore([c if isinstance(c, bytes) else c.item() for c in content])
        return match, values


class CheckpointLoadStatus(_LoadStatus):
    """A checkpoint of objects that is being restored."""

    def __init__(self, saver, save_path, reader, saved):
        self._saver, self._path, self._reader, self._saved = saver, save_path, reader, saved
        self._root = saver._view.root  # kept alive
        self._uid = ops.uid()
        self._expect_partial = False
        self._restored = set()  # keys
        self._python = _PythonRestoration(saver._view, reader, saved, self._uid)
        self._match = None
        self._find()
        for one, other in self._match.inconsistent:
            logging.warning(
                "Inconsistent references when loading the checkpoint into this object graph. Two checkpoint "
                "references resolved to different objects (%s and %s).",
                one,
                other,
            )

    def _find(self):
        """Matches again. Restores state of Python. Returns [(key, variable or SaveableObject)]."""
        self._match, values = self._python.find()
        return values

    def assert_consumed(self):
        self.assert_existing_objects_matched()
        names = self._match.names()
        for number in self._match.unresolved():
            raise AssertionError(
                f"Unresolved object in checkpoint {names.get(number)}: {self._saved.nodes[number]}"
            )
        if self._match.unused:
            lost = {names[number]: attributes for number, attributes in self._match.unused.items()}
            raise AssertionError(
                f"Unused attributes in these objects (the attributes exist in the checkpoint "
                f"but not in the objects): {lost}"
            )
        return self

    def assert_existing_objects_matched(self):
        self._find()
        for number, node in enumerate(self._saved.nodes):
            obj = self._match.object_of(number)
            if isinstance(obj, base.Trackable) and obj._update_uid < self._uid:
                raise AssertionError(f"Object not assigned a value from checkpoint: {node}")
        unmatched = self._match.unmatched()
        if unmatched:
            raise AssertionError(
                "Some Python objects were not bound to checkpointed values, likely due to changes in the "
                f"Python program: {unmatched}"
            )
        return self

    def unmatched_variables(self):
        """The variables that are not in the checkpoint."""
        from braid.tensorflow.python.ops import variables

        self._find()
        return [obj for obj in self._match.unmatched() if isinstance(obj, variables.Variable)]

    def assert_nontrivial_match(self):
        self._find()
        if len(self._match.bound) <= 1:
            unmatched = self._match.unmatched()
            if unmatched:
                raise AssertionError(
                    "Nothing except the root object matched a checkpointed value. Typically this means that "
                    "the checkpoint does not match the Python program. The following objects have no "
                    f"matching checkpointed value: {unmatched}"
                )
            raise AssertionError(f"Nothing to load. No dependencies have been added to {self._root} yet.")
        return self

    def run_restore_ops(self, session=None):
        session = session or get_session()
        with session.graph.as_default():
            self._run(session, self._find())

    def restore_new_objects(self, session):
        """As run_restore_ops, for those objects only that are new since then."""
        with session.graph.as_default():
            self._run(session, [value for value in self._find() if value[0] not in self._restored])

    def _run(self, session, values):
        self._saver._run_restore(session, self._path, values)
        self._restored.update(key for key, _ in values)

    def initialize_or_restore(self, session=None):
        session = session or get_session()
        self.run_restore_ops(session)
        restored = set(map(id, map(self._match.own.objects.__getitem__, self._match.bound.values())))
        session.run(
            [
                initializer
                for obj, initializer in _initializers(self._match.own.objects)
                if id(obj) not in restored and getattr(obj, "_update_uid", -1) < self._uid
            ]
        )

    def expect_partial(self):
        self._expect_partial = True
        return self

    def __del__(self):
        if self._expect_partial or self._match is None:
            return
        with contextlib.suppress(Exception):  # Python may be at its end
            match = _Match(self._saved, self._saver._view.snapshot())
            match.unused = self._match.unused
            names = match.names()
            lost = [f"Unresolved object in checkpoint: {names[n]}" for n in match.unresolved()]
            lost += [f"Unused attribute in object {names[n]}: {a}" for n, a in match.unused.items()]
            if lost:
                logging.warning(
                    "%s\nA checkpoint was restored (e.g. tf.train.Checkpoint.restore or "
                    "tf.keras.Model.load_weights) but not all checkpointed values were used. Use "
                    "expect_partial() on the load status object to silence these warnings, or "
                    "assert_consumed() to make the check explicit.",
                    "\n".join(lost),
                )


class InitializationOnlyStatus(_LoadStatus):
    """The status of restore(None): there is no checkpoint, and variables are initialized."""

    def __init__(self, view):
        self._view, self._root, self._uid = view, view.root, ops.uid()

    def assert_consumed(self):
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    def run_restore_ops(self, session=None):
        raise AssertionError(
            "No checkpoint specified, so no restore ops are available (save_path=None to Saver.restore)."
        )

    def initialize_or_restore(self, session=None):
        session = session or get_session()
        with session.graph.as_default():
            objects = self._view.list_objects()
        session.run([i for obj, i in _initializers(objects) if getattr(obj, "_update_uid", -1) < self._uid])


class NameBasedSaverStatus(_LoadStatus):
    """A checkpoint of tf.train.Saver: variables are found by their names. It need not have all of them."""

    def __init__(self, view, save_path):
        self._view, self._root, self._path, self._uid = view, view.root, save_path, ops.uid()
        self._lost = []

    def _named(self):
        """{name in a checkpoint: variable or SaveableObject}, and [(object, attribute)] without a name."""
        named, nameless = {}, []
        for obj in self._view.list_objects():
            if data_structures.is_container(obj):
                continue
            if obj._update_uid > self._uid:
                continue
            obj._update_uid = self._uid
            for attribute, saveable in obj._gather_saveables_for_checkpoint().items():
                if callable(saveable) and not hasattr(saveable, "initializer"):
                    try:
                        saveable = saveable()
                    except TypeError:  # the function needs a name
                        if not saveable(name="").optional_restore:
                            nameless.append((obj, attribute))
                        continue
                named.update(
                    saveable_object_util.op_list_to_dict([saveable], convert_variable_to_tensor=False)
                )
        return named, nameless

    def assert_consumed(self):
        if self._lost:
            raise AssertionError(f"Some objects had attributes which were not restored: {self._lost}")
        for obj in self._view.list_objects():
            if isinstance(obj, base.Trackable) and obj._update_uid < self._uid:
                raise AssertionError(f"Object not restored: {obj}")
        return self

    def run_restore_ops(self, session=None):
        session = session or get_session()
        with session.graph.as_default(), ops.device("/cpu:0"):
            named, self._lost = self._named()
            there = py_checkpoint_reader.NewCheckpointReader(self._path).get_variable_to_shape_map()
            found = {name: saveable for name, saveable in named.items() if name in there}
            others = [saveable for name, saveable in named.items() if name not in there]
            self._lost += others
            if found:
                saver_lib.Saver(found).restore(session, self._path)
        return others

    def initialize_or_restore(self, session=None):
        session = session or get_session()
        session.run([initializer for _, initializer in _initializers(self.run_restore_ops(session))])


def streaming_restore(status, session=None):
    """Restores what there is now. With restore(None) nothing is to be done."""
    if not isinstance(status, InitializationOnlyStatus):
        status.run_restore_ops(session)


class TrackableSaver:
    """Saves and restores the objects of an ObjectGraphView. Ops are kept as long as the objects stay."""

    def __init__(self, graph_view):
        self._view = graph_view
        self._builder = saver_lib.BulkSaverBuilder()
        self._ops = {}  # those of saving and restoring, by graph and values
        self._prefixes = {}  # by graph: (the tensor fed with the prefix, that fed with the graph of objects)

    def _fed(self):
        graph = ops.get_default_graph()
        if graph not in self._prefixes:
            with ops.device("/cpu:0"):
                self._prefixes[graph] = (
                    constant_op.constant("model", dtype=dtypes.string),
                    constant_op.constant("", dtype=dtypes.string),
                )
        return self._prefixes[graph]

    def _kept(self, what, values, make):
        """The op of these values, made by `make` at the first call."""
        case = (what, ops.get_default_graph(), tuple((key, id(saveable)) for key, saveable in values))
        if case not in self._ops:
            with ops.name_scope(None, what):
                self._ops[case] = (make(graph_view_lib.saveable_objects(values)), values)
        return self._ops[case][0]

    def save(self, file_prefix, checkpoint_number=None, session=None):
        """Writes a checkpoint, and returns its prefix: file_prefix or file_prefix-checkpoint_number."""
        session = session or get_session()
        if checkpoint_number:
            file_prefix = f"{file_prefix}-{int(checkpoint_number)}"
        file_io.recursive_create_dir(os.path.dirname(file_prefix))
        saver_lib._allow_files(file_prefix)
        with session.graph.as_default():
            graph, values = self._view.snapshot().to_proto()
            prefix, content = self._fed()
            feed = {prefix: file_prefix, content: graph.SerializeToString()}
            feed.update(graph_view_lib.feeds(values))
            saved = self._kept("save", values, lambda saveables: self._save_op(prefix, content, saveables))
        return compat.as_str(session.run(saved, feed_dict=feed))

    def _save_op(self, prefix, content, saveables):
        saveables = saveables + [base.NoRestoreSaveable(content, base.OBJECT_GRAPH_PROTO_KEY)]
        per_device = self._builder._GroupByDevices(saveables)
        if _on_one_task(per_device):
            with ops.device("/cpu:0"):
                return self._builder._AddSaveOps(prefix, saveables)
        return self._builder._AddShardedSaveOpsForV2(prefix, per_device)

    def restore(self, save_path):
        """The status of restoring a checkpoint of objects, or of names; None: there is none."""
        if save_path is None:
            return InitializationOnlyStatus(self._view)
        save_path = os.fspath(save_path)
        reader = py_checkpoint_reader.NewCheckpointReader(save_path)
        try:
            saved = object_graph_of(reader)
        except errors.NotFoundError:
            return NameBasedSaverStatus(self._view, save_path)
        return CheckpointLoadStatus(self, save_path, reader, saved)

    def _run_restore(self, session, save_path, values):
        if values:
            prefix, _ = self._fed()
            op = self._kept("restore", values, lambda saveables: self._restore_op(prefix, saveables))
            saver_lib._allow_files(save_path)
            session.run(op, feed_dict={prefix: save_path})

    def _restore_op(self, prefix, saveables):
        per_device = self._builder._GroupByDevices(saveables)
        if _on_one_task(per_device):
            return self._builder._AddRestoreOps(prefix, saveables, False, False)
        return self._builder._AddShardedRestoreOps(prefix, per_device, False, False)


def _on_one_task(per_device):
    from braid.tensorflow.python.framework import device as pydev

    tasks = [pydev.DeviceSpec.from_string(device) for device, _ in per_device]
    return len({(t.job, t.replica, t.task) for t in tasks}) == 1


def frozen_saver(root_trackable):
    """A saver of the objects as they depend on each other now. It restores checkpoints of the same graph."""
    return functional_saver.MultiDeviceSaver(
        graph_view_lib.ObjectGraphView(root_trackable).frozen_saveable_objects()
    )


def saver_with_op_caching(obj):
    return TrackableSaver(graph_view_lib.ObjectGraphView(weakref.ref(obj)))


@tf_export(v1=["train.Checkpoint"])
class CheckpointV1(tracking.AutoTrackable):
    """Saves objects (variables, layers, models, optimizers, tables ...) and what they depend on.

    Values are found again by the attributes that lead to them, not by names of variables: see the module.
    """

    def __init__(self, **kwargs):
        """kwargs: the objects, which become attributes. ValueError: one is not trackable."""
        super().__init__()
        for name, value in sorted(kwargs.items()):
            if not isinstance(value, base.Trackable):
                raise ValueError(
                    "`Checkpoint` was expecting a trackable object (an object derived from "
                    f"`TrackableBase`), got {value}. If you believe this object should be trackable (i.e. it is "
                    "part of the TensorFlow Python API and manages state), please open an issue."
                )
            setattr(self, name, value)
        self._save_counter = None
        self._save_assign_op = None
        self._saver = saver_with_op_caching(self)

    @property
    def save_counter(self):
        """An int64 variable: how many checkpoints `save` has written."""
        if self._save_counter is None:
            with ops.device("/cpu:0"):
                self._save_counter = data_structures.NoDependency(
                    add_variable(self, "save_counter", initializer=0, dtype=dtypes.int64, trainable=False)
                )
        return self._save_counter

    def write(self, file_prefix, session=None):
        """Writes a checkpoint, and returns its prefix. It is not numbered, nor listed."""
        return self._saver.save(file_prefix, session=session)

    def save(self, file_prefix, session=None):
        """Writes the checkpoint file_prefix-N, N from 1 on, and lists it as the newest of its directory.
        Returns its prefix.
        """
        session = session or get_session()
        with session.graph.as_default():
            if self._save_counter is None:
                session.run(self.save_counter.initializer)
            if self._save_assign_op is None:
                with ops.colocate_with(self.save_counter):
                    self._save_assign_op = data_structures.NoDependency(self.save_counter.assign_add(1))
        number = session.run(self._save_assign_op)
        path = self.write(f"{file_prefix}-{number}", session=session)
        checkpoint_management.update_checkpoint_state_internal(
            save_dir=os.path.dirname(file_prefix),
            model_checkpoint_path=path,
            all_model_checkpoint_paths=[path],
            save_relative_paths=True,
        )
        return path

    def restore(self, save_path):
        """Finds the values of a checkpoint for the objects. Its status' run_restore_ops(), or
        initialize_or_restore(), gives them.

        save_path: also of a checkpoint of tf.train.Saver; None: variables are to be initialized.
        """
        status = self._saver.restore(save_path)
        _ = self.save_counter  # so that it is initialized with the other variables
        return status


Checkpoint = CheckpointV1
