"""tf.GradientTape in a graph, by tf.gradients; the gradients of eager execution are refused."""

import contextlib

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gradients_impl
from braid.tensorflow.python.ops import resource_variable_ops
from braid.tensorflow.python.ops.unconnected_gradients import UnconnectedGradients
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import tf_export

_WAY = "is not in Braid: build a graph, and tf.gradients gives its derivatives"


@tf_export("GradientTape")
class GradientTape:
    """Gradients of what is built within it: with tf.GradientTape() as tape: ...; tape.gradient(y, x).

    They go through nodes that were built while the tape recorded, to variables and to tensors that it
    watches.

    Args:
      persistent: whether more than one gradient may be asked for.
      watch_accessed_variables: whether trainable variables need no `watch`.
    """

    def __init__(self, persistent=False, watch_accessed_variables=True):
        self._persistent = persistent
        self._watch_accessed_variables = watch_accessed_variables
        self._graph = None
        self._since = None  # the number of the first node that is being recorded; None: not recording
        self._ended = False
        self.reset()

    def reset(self):
        """Forgets what is recorded and watched."""
        self._parts = []  # numbers (from, to) of the nodes that were recorded
        self._watched = {}  # id of a tensor or variable: itself
        self._used = False
        if self._since is not None:
            self._start()

    # -- Recording --

    def _start(self):
        self._graph = ops.get_default_graph()
        self._since = len(self._graph.get_operations())

    def _stop(self):
        self._parts.append((self._since, len(self._graph.get_operations())))
        self._since = None

    def __enter__(self):
        if self._since is not None:
            raise ValueError("Tape is already recording.")
        if not self._persistent:
            self.reset()
        self._start()
        return self

    def __exit__(self, typ, value, traceback):
        if self._since is not None:
            self._stop()

    @contextlib.contextmanager
    def stop_recording(self):
        """Within it nodes are not recorded."""
        if self._since is None:
            raise RuntimeError("Tape is not recording.")
        self._stop()
        try:
            yield
        finally:
            self._start()

    def watch(self, tensor):
        """Has gradients go to a tensor, or to each of a structure. ValueError: one is no tensor or variable."""
        for t in nest.flatten(tensor):
            if not isinstance(t, ops.Tensor) and not hasattr(t, "initializer"):
                raise ValueError(f"Passed in object of type {type(t)}, not tf.Tensor")
            if not t.dtype.is_floating:
                logging.warn(
                    "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r", t.dtype
                )
            self._watched[id(t)] = t

    def watched_variables(self):
        """The variables that are watched, and the trainable ones whose values recorded nodes take."""
        found = {key: v for key, v in self._watched.items() if not isinstance(v, ops.Tensor)}
        if self._watch_accessed_variables and self._graph is not None:
            taken = {id(t) for op in self._recorded() for t in op.inputs}
            known = self._graph.get_collection(ops.GraphKeys.TRAINABLE_VARIABLES)
            others = self._graph.get_collection(ops.GraphKeys.GLOBAL_VARIABLES)
            for v in [*known, *(v for v in others if getattr(v, "trainable", False))]:
                if any(id(t) in taken for t in _values_of(v)):
                    found[id(v)] = v
        return tuple(found.values())

    def _recorded(self):
        parts = list(self._parts)
        operations = self._graph.get_operations()
        if self._since is not None:
            parts.append((self._since, len(operations)))
        return [op for first, end in parts for op in operations[first:end]]

    # -- Gradients --

    def gradient(
        self, target, sources, output_gradients=None, unconnected_gradients=UnconnectedGradients.NONE
    ):
        """The gradients of the sum of `target`, a structure of tensors, by `sources`, in whose structure.

        `output_gradients`: initial gradients in place of ones. RuntimeError: a second call, of a tape that is
        not persistent.
        """
        targets = [self._value_of(y) for y in nest.flatten(target)]
        compute, known = self._begin(targets, sources)
        initial = [None] * len(targets) if output_gradients is None else nest.flatten(output_gradients)
        pairs = [(y, g) for y, g, is_known in zip(targets, initial, known) if is_known]
        made = compute([y for y, _ in pairs], [g for _, g in pairs], unconnected_gradients)
        return nest.pack_sequence_as(sources, made)

    def jacobian(
        self,
        target,
        sources,
        unconnected_gradients=UnconnectedGradients.NONE,
        parallel_iterations=None,
        experimental_use_pfor=True,
    ):
        """The derivatives of each element of `target` by each of `sources`: shape target.shape + source.shape."""
        from braid.tensorflow.python.ops.parallel_for import gradients

        compute, (is_known,) = self._begin([target], sources)
        return gradients._jacobian(
            target,
            sources,
            lambda y, _: compute([y] if is_known else [], None, unconnected_gradients),
            experimental_use_pfor,
            parallel_iterations,
        )

    def batch_jacobian(
        self,
        target,
        source,
        unconnected_gradients=UnconnectedGradients.NONE,
        parallel_iterations=None,
        experimental_use_pfor=True,
    ):
        """For each i the derivatives of target[i] by source[i]: shape target.shape + source.shape[1:]."""
        from braid.tensorflow.python.ops.parallel_for import gradients

        compute, (is_known,) = self._begin([target], source)
        return gradients._batch_jacobian(
            target,
            source,
            lambda y, _: compute([y] if is_known else [], None, unconnected_gradients),
            experimental_use_pfor,
            parallel_iterations,
        )

    def _value_of(self, target):
        """A variable's value, which is recorded; a tensor."""
        if not resource_variable_ops.is_resource_variable(target):
            return target
        is_recording = self._since is not None
        if not is_recording:
            self._start()
        value = ops.convert_to_tensor(target)
        if not is_recording:
            self._stop()
        return value

    def _begin(self, targets, sources):
        """A function and whether each target was recorded: others have no gradients.

        compute(targets, their gradients or None, unconnected): the gradients by the sources, as a list.
        """
        if self._used:
            raise RuntimeError("GradientTape.gradient can only be called once on non-persistent tapes.")
        if self._since is not None and not self._persistent:
            self._stop()
        self._used = not self._persistent
        flat = nest.flatten(sources)
        recorded = self._recorded() if self._graph is not None else []
        stops = _stops(recorded, flat)
        inside = set(recorded)
        known = [self._is_watched(x, inside) for x in flat]
        if not all(isinstance(y, ops.Tensor) for y in targets):
            raise ValueError("GradientTape.gradient is not supported for variable targets.")

        def compute(targets, initial, unconnected):
            initial = initial if initial and any(g is not None for g in initial) else None
            xs = [x for x, is_known in zip(flat, known) if is_known and targets]
            made = iter(
                gradients_impl.gradients(
                    targets, xs, initial, stop_gradients=stops, unconnected_gradients=unconnected
                )
                if xs
                else []
            )
            is_zero = UnconnectedGradients(unconnected) is UnconnectedGradients.ZERO
            of_unknown = array_ops.zeros_like if is_zero else lambda x: None
            return [next(made) if is_known and targets else of_unknown(x) for x, is_known in zip(flat, known)]

        return compute, [y.op in inside or id(y) in self._watched for y in targets]

    def _is_watched(self, x, recorded):
        if id(x) in self._watched:
            return True
        if isinstance(x, ops.Tensor):
            return x.op in recorded
        return self._watch_accessed_variables and getattr(x, "trainable", True)


def _values_of(variable):
    """The tensors by which nodes take a variable."""
    handle = getattr(variable, "handle", None)
    if isinstance(handle, ops.Tensor):
        return [handle]
    read = [op.outputs[0] for op in variable.op.outputs[0].consumers() if op.type == "Identity"]
    return [variable.op.outputs[0], *read]


def _stops(recorded, sources):
    """What recorded nodes take from nodes that are not: the tape knows no way through these."""
    inside = set(recorded)
    ends = {id(t) for x in sources for t in ([x] if isinstance(x, ops.Tensor) else _values_of(x))}
    found = {}
    for op in recorded:
        for t in op.inputs:
            if t.op not in inside and id(t) not in ends and t.op.inputs:
                found[id(t)] = t
    return list(found.values())


def implicit_grad(f):
    raise NotImplementedError(f"implicit_grad {_WAY}")


implicit_val_and_grad = gradients_function = val_and_grad_function = implicit_grad
