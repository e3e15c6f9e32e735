"""tf.saved_model.load_v2 of a saved model without objects, as tf.saved_model.builder writes it.

Its graph is kept beside the default graph. What a signature or `prune` takes of it becomes a function, and
resource variables are made in the default graph, from where each function captures them.
"""

from braid.tensorflow.python.eager.lift_to_graph import UnliftableError
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import importer
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import resource_variable_ops
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.saved_model import loader_impl
from braid.tensorflow.python.saved_model import restored_functions
from braid.tensorflow.python.saved_model import signature_serialization
from braid.tensorflow.python.saved_model import utils_impl
from braid.tensorflow.python.training import monitored_session
from braid.tensorflow.python.training import saver as tf_saver
from braid.tensorflow.python.training.tracking import tracking
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util import nest


class _Initializer(tracking.CapturableResource):
    """What fills the tables of a saved model and initializes its local variables."""

    def __init__(self, init_fn, asset_paths):
        super().__init__()
        self._init_fn, self._asset_paths = init_fn, asset_paths

    def _create_resource(self):
        return array_ops.placeholder(dtype=dtypes.resource, shape=[], name="unused_resource")

    def _list_functions_for_serialization(self, view):
        raise NotImplementedError(
            "tf.saved_model.save does not write what load_v2 has read from a saved model without objects; copy its "
            "directory"
        )

    def _initialize(self):
        return self._init_fn(*(path.asset_path for path in self._asset_paths))


class _Part(restored_functions.ConcreteFunction):
    """A function of a part of the graph. Where it has no results, a call gives its operation."""

    def call_flat(self, tensors, captured=None):
        results = super().call_flat(tensors, captured)
        return results[0].op if isinstance(results, _OnlyOperations) else results


class _OnlyOperations(list):
    """The results of a function that only runs operations: a constant that waits for them."""


class _Whole:
    """A graph of which functions have parts. `variables`: those of the default graph in place of its own."""

    def __init__(self, graph, outer):
        self.graph, self._outer = graph, outer
        self.variables, self.local_variables = [], []
        self._replaced, self._objects = {}, {}

    def lift(self, version):
        """Makes its resource variables in the default graph. Their initializers are still to be set.

        version: of the TensorFlow that has written the graph.
        """
        numbers = version.split(".")
        is_old = all(n.isdigit() for n in numbers[:2]) and tuple(map(int, numbers[:2])) < (1, 9)
        trainable = self.graph.get_collection(ops.GraphKeys.TRAINABLE_VARIABLES)
        collections = {}
        for key in (ops.GraphKeys.GLOBAL_VARIABLES, ops.GraphKeys.LOCAL_VARIABLES):
            for old in self.graph.get_collection(key):
                if isinstance(old, variables.Variable):
                    collections.setdefault(id(old), (old, []))[1].append(key)
        for old, keys in collections.values():
            if not resource_variable_ops.is_resource_variable(old):
                logging.warning(
                    f"Unable to create a python object for variable {old} because it is a reference variable. It may "
                    "not be visible to training APIs. If this is a problem, consider rebuilding the SavedModel after "
                    "running tf.compat.v1.enable_resource_variables()."
                )
                continue
            new = variables.VariableV1(
                array_ops.placeholder(old.dtype.base_dtype, old.shape),
                trainable=False,
                collections=keys,
                dtype=old.dtype.base_dtype,
                name=old.op.name,
                validate_shape=old.shape.is_fully_defined(),
                use_resource=True,
            )
            # VariableDefs tell since TensorFlow 1.9 whether a variable is trainable.
            new._trainable = old in trainable if is_old else old.trainable
            self.variables.append(new)
            if ops.GraphKeys.LOCAL_VARIABLES in keys:
                self.local_variables.append(new)
            self._replaced[old.handle.name] = new.handle
            self._objects[id(new.handle)] = new

    def prune(self, feeds, fetches, name=None, input_signature=None):
        """A function that computes `fetches` of this graph from values for the tensors `feeds`.

        fetches: a structure of tensors, operations, their names, or TensorInfos. A call gives the same
        structure, with None for operations. input_signature: (a tuple, a dict) of TensorSpecs, which
        structured_input_signature shall be. UnliftableError: a placeholder is needed that is not fed.
        """
        flat_feeds = [self.graph.as_graph_element(t) for t in nest.flatten(feeds, expand_composites=True)]
        if not all(isinstance(t, ops.Tensor) for t in flat_feeds):
            raise ValueError("Feeds must be tensors.")
        flat_feeds = [t for t in flat_feeds if t.name not in self._replaced]
        infos = {}

        def element(fetch):
            if hasattr(fetch, "WhichOneof"):  # a TensorInfo
                if fetch.WhichOneof("encoding") != "name":
                    return utils_impl.get_tensor_from_tensor_info(fetch, self.graph)
                found = utils_impl.get_element_from_tensor_info(fetch, self.graph)
                if isinstance(found, ops.Tensor):
                    infos[found.name] = fetch
                return found
            if isinstance(fetch, (ops.Tensor, ops.Operation)) or _is_composite(fetch):
                return fetch
            return self.graph.as_graph_element(fetch)

        elements = nest.map_structure(element, fetches)
        flat = nest.flatten(elements, expand_composites=True)
        for thing in [*flat_feeds, *flat]:
            if thing.graph is not self.graph:
                raise ValueError(
                    "Can only prune function whose feeds and fetches are from this graph "
                    f"({self.graph}). Input {thing} is from graph {thing.graph}"
                )
        definition = self._needed(flat, flat_feeds)

        def body(*tensors):
            fed = dict(zip((t.name for t in flat_feeds), tensors))
            return self._compute(definition, elements, {**self._replaced, **fed}, infos)

        specs = [tensor_spec.TensorSpec(t.shape, t.dtype.base_dtype) for t in flat_feeds]
        keywords = [t.op.name if t.value_index == 0 else t.name.replace(":", "_") for t in flat_feeds]
        signature = input_signature or (
            tuple(tensor_spec.TensorSpec(s.shape, s.dtype, k) for s, k in zip(specs, keywords)),
            {},
        )
        with self._outer.as_default():
            made = restored_functions.trace(
                f"__inference_{name or 'pruned'}", body, specs, self._objects, signature
            )
        made = _Part(
            made.function, made.captures, made.structured_input_signature, made.structured_outputs, keywords
        )
        made._num_positional_args = len(keywords)
        made.graph, made.prune, made.variables = self.graph, self.prune, self.variables
        made.inputs = flat_feeds + [captured.handle for captured in made.captures]
        made.outputs = [thing for thing in flat if not isinstance(thing, ops.Operation)]
        return made

    def _needed(self, fetches, feeds):
        """The GraphDef of the nodes that `fetches` need, but for what is given."""
        given = {t.name for t in feeds} | set(self._replaced)
        pending, kept, why = [], {}, {}
        for thing in fetches:
            if isinstance(thing, ops.Operation) or thing.name not in given:
                pending.append(thing.op if isinstance(thing, ops.Tensor) else thing)
                why[pending[-1].name] = thing
        while pending:
            op = pending.pop()
            if op.name in kept:
                continue
            if op.type in ("Placeholder", "PlaceholderV2"):
                raise UnliftableError(
                    f"Unable to lift tensor {why[op.name]!r} because it depends transitively on placeholder "
                    f"{op!r}, which is not fed."
                )
            kept[op.name] = op
            needed = [t.op for t in op.inputs if t.name not in given] + list(op.control_inputs)
            for other in needed:
                if other.name not in kept:
                    why.setdefault(other.name, why[op.name])
                    pending.append(other)
        whole = self.graph.as_graph_def()
        wanted = type(whole)(library=whole.library, versions=whole.versions)
        for node in whole.node:
            if node.name in kept:
                attrs = _added(wanted, node).attr
                attrs.pop("_class", None)  # a node beside which it stood may be left out
                attrs.pop("_output_shapes", None)
        return wanted

    def _compute(self, definition, elements, given, infos):
        """Builds the nodes in a function's graph; the values of `elements`."""
        used, made = {}, {}
        for node in definition.node:
            for source in node.input:
                name = source if ":" in source or source.startswith("^") else source + ":0"
                if name in given:
                    used[source] = given[name]
        flat = nest.flatten(elements, expand_composites=True)
        wanted = [thing.name for thing in flat if isinstance(thing, ops.Operation) or thing.name not in given]
        if wanted:
            found = importer.import_graph_def(definition, input_map=used, return_elements=wanted, name="")
            made = dict(zip(wanted, found))
        operations = [made[thing.name] for thing in flat if isinstance(thing, ops.Operation)]
        with ops.control_dependencies(operations):
            values = []
            for thing in flat:
                if isinstance(thing, ops.Operation):
                    values.append(None)
                    continue
                value = array_ops.identity(made[thing.name] if thing.name in made else given[thing.name])
                if thing.name in infos:
                    value.set_shape(tensor_shape.TensorShape(infos[thing.name].tensor_shape))
                values.append(value)
            if all(value is None for value in values):
                return _OnlyOperations([constant_op.constant(0.0, name="done")])
        return nest.pack_sequence_as(elements, values, expand_composites=True)


def _added(graph_def, node):
    added = graph_def.node.add()
    added.CopyFrom(node)
    return added


def _is_composite(value):
    return len(nest.flatten([value], expand_composites=True)) > 1


def _renamed(meta_graph):
    """The message with functions and resources whose names no other load has."""
    copy = type(meta_graph)()
    copy.CopyFrom(meta_graph)
    functions = restored_functions.load_library(copy.graph_def.library)
    suffix = f"_load_{ops.uid()}"
    del copy.graph_def.library.function[:]
    for function in functions.values():
        copy.graph_def.library.function.add().CopyFrom(function.definition)
    for node in copy.graph_def.node:
        restored_functions._rename(node, functions, "")
        if "shared_name" in node.attr or node.op in ("VariableV2", "Variable", "VarHandleOp", "HashTableV2"):
            shared = node.attr["shared_name"].s or compat.as_bytes(node.name)
            node.attr["shared_name"].s = shared + compat.as_bytes(suffix)
    return copy


def _meta_graph_of(saved_model, loader, tags):
    if tags is not None:
        return loader.get_meta_graph_def_from_tags(
            nest.flatten(list(tags) if isinstance(tags, set) else tags)
        )
    if len(saved_model.meta_graphs) != 1:
        sets = [list(graph.meta_info_def.tags) for graph in saved_model.meta_graphs]
        raise ValueError(
            "Importing a SavedModel with tf.saved_model.load requires a 'tags=' argument if there is more than one "
            f"MetaGraph. Got 'tags=None', but there are {len(sets)} MetaGraphs in the SavedModel with tag sets "
            f"{sets}. Pass a 'tags=' argument to load this SavedModel."
        )
    return saved_model.meta_graphs[0]


def load(export_dir, tags):
    """The object of a saved model without objects, in the default graph.

    Its attributes are signatures, variables, graph, prune (see _Whole.prune), initializer and asset_paths.
    """
    loader = loader_impl.SavedModelLoader(export_dir)
    meta_graph = _renamed(_meta_graph_of(loader.saved_model, loader, tags))
    outer, inner = ops.get_default_graph(), ops.Graph()
    with inner.as_default():
        saver, _ = tf_saver._import_meta_graph_with_return_elements(meta_graph)
        init_op = loader_impl.get_init_op(meta_graph)
        if init_op is None:
            init_op = monitored_session.Scaffold.default_local_init_op()
    whole = _Whole(inner, outer)
    whole.lift(meta_graph.meta_info_def.tensorflow_version)
    root = tracking.AutoTrackable()
    if saver is not None:
        saver_def = saver.saver_def
        restore = whole.prune([saver_def.filename_tensor_name], [saver_def.restore_op_name])
        restored = restore(constant_op.constant(loader.variables_path))
        ops.add_to_collection(ops.GraphKeys.TABLE_INITIALIZERS, restored)
        for variable in whole.variables:
            variable._initializer_op = restored
    feeds, root.asset_paths = [], []
    for name, path in loader_impl.get_asset_tensors(loader.export_dir, meta_graph).items():
        feeds.append(name)
        root.asset_paths.append(tracking.TrackableAsset(path))
    root.initializer = _Initializer(whole.prune(feeds, [init_op]), root.asset_paths)
    initialized = root.initializer._initialize()
    ops.add_to_collection(ops.GraphKeys.TABLE_INITIALIZERS, initialized)
    for variable in whole.local_variables:
        variable._initializer_op = initialized
    root.signatures = signature_serialization._SignatureMap()
    for key, signature in meta_graph.signature_def.items():
        root.signatures._add_signature(key, _function_of(whole, key, signature))
    root.variables = list(whole.variables)
    root.tensorflow_version = meta_graph.meta_info_def.tensorflow_version
    root.tensorflow_git_version = meta_graph.meta_info_def.tensorflow_git_version
    root.graph, root.prune = inner, whole.prune
    return root


def _function_of(whole, key, signature):
    """The function of a SignatureDef, whose arguments are passed by their names."""
    names = list(signature.inputs)
    try:
        made = whole.prune(
            [signature.inputs[name].name for name in names],
            {name: signature.outputs[name] for name in signature.outputs},
            name=f"signature_wrapper_{key}",
        )
    except UnliftableError as error:
        raise UnliftableError(
            "A SavedModel signature needs an input for each placeholder the signature's outputs use. An output for "
            f"signature '{key}' depends on a placeholder which is not an input (i.e. the placeholder is not fed a "
            f"value).\n\n{error}"
        ) from None
    specs, _ = made.structured_input_signature
    named = {n: tensor_spec.TensorSpec(s.shape, s.dtype, n) for n, s in zip(names, specs)}
    made.structured_input_signature = ((), named)
    made._arg_keywords, made._num_positional_args = names, 1 if len(names) == 1 else 0
    return made
