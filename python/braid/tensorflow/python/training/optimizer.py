"""What all optimizers share: gradients of a loss, and updates of variables with slots beside them."""

import abc

from braid.tensorflow.python.distribute import distribution_strategy_context as ds
from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.ops import (
    array_ops,
    control_flow_ops,
    gradients,
    math_ops,
    resource_variable_ops,
    state_ops,
    variable_scope,
    variables,
)
from braid.tensorflow.python.training import slot_creator
from braid.tensorflow.python.training.tracking import base as trackable
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import tf_export


def _deduplicate_indexed_slices(values, indices):
    """Sums the slices of equal indices. Returns (summed values, unique indices)."""
    unique_indices, positions = array_ops.unique(indices)
    summed = math_ops.unsorted_segment_sum(values, positions, array_ops.shape(unique_indices)[0])
    return summed, unique_indices


def _var_key(var):
    """The key of a variable in an optimizer's tables; of a copy on a device, that of the whole."""
    whole = getattr(var, "_distributed_container", None)
    var = var if whole is None else whole.values[0]
    return (var.op.graph, var.op.name) if hasattr(var, "op") else var._unique_id


class _OptimizableVariable(abc.ABC):
    """A kind of variable: what gradients are taken with respect to, and how it is updated."""

    def __init__(self, v):
        self._v = v

    @abc.abstractmethod
    def target(self):
        """The tensor, or the variable, that gradients are taken with respect to."""

    @abc.abstractmethod
    def update_op(self, optimizer, g):
        """The op that updates the variable by the gradient `g`, a tensor or IndexedSlices."""

    def _refuse_constraint(self):
        if self._v.constraint is not None:
            raise RuntimeError("Cannot use a constraint function on a sparse variable.")

    def _constrained(self, update):
        if self._v.constraint is None:
            return update
        with ops.control_dependencies([update]):
            return self._v.assign(self._v.constraint(self._v))


class _RefVariableProcessor(_OptimizableVariable):
    """A variable of reference type."""

    def __str__(self):
        return f"<_RefVariableProcessor({self._v})>"

    def target(self):
        return self._v._ref()

    def update_op(self, optimizer, g):
        if isinstance(g, ops.Tensor):
            return self._constrained(optimizer._apply_dense(g, self._v))
        self._refuse_constraint()
        return optimizer._apply_sparse_duplicate_indices(g, self._v)


class _DenseResourceVariableProcessor(_OptimizableVariable):
    """A resource variable."""

    def target(self):
        return self._v

    def update_op(self, optimizer, g):
        if isinstance(g, ops.IndexedSlices):
            self._refuse_constraint()
            return optimizer._resource_apply_sparse_duplicate_indices(g.values, self._v, g.indices)
        return self._constrained(optimizer._resource_apply_dense(g, self._v))


class _DenseReadResourceVariableProcessor(_OptimizableVariable):
    """What a resource variable was read as: updates go to the variable's handle."""

    def target(self):
        return self._v

    def update_op(self, optimizer, g):
        return optimizer._resource_apply_dense(g, self._v.op.inputs[0])


class _TensorProcessor(_OptimizableVariable):
    """A tensor: its gradients may be computed, and it cannot be updated."""

    def target(self):
        return self._v

    def update_op(self, optimizer, g):
        raise NotImplementedError("Trying to update a Tensor ", self._v)


def _get_processor(v):
    if resource_variable_ops.is_resource_variable(v) or v.op.type == "VarHandleOp":
        return _DenseResourceVariableProcessor(v)
    if isinstance(v, variables.Variable):
        return _RefVariableProcessor(v)
    if isinstance(v, ops.Tensor):
        return _TensorProcessor(v)
    raise NotImplementedError("Trying to optimize unsupported type ", v)


@tf_export(v1=["train.Optimizer"])
class Optimizer(trackable.Trackable):
    """The base of optimizers.

    An optimizer overrides _apply_dense and _apply_sparse for variables of reference type,
    _resource_apply_dense and _resource_apply_sparse for resource variables; _create_slots to make its slots,
    _prepare to make the tensors of its hyperparameters, and _finish to do something after all variables have
    been updated.

    Gates say what waits for what: with GATE_NONE an update waits for its own gradient only; with GATE_OP the
    gradients of all inputs of an op are computed before one is used; with GATE_GRAPH all gradients are
    computed before one is used.
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking, name):
        """use_locking: updates hold the variable's lock. name: of the nodes and of the slots."""
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._slots = {}  # name of the slot -> key of the variable -> its slot
        self._non_slot_dict = {}  # (name, graph) -> variable

    def get_name(self):
        return self._name

    def minimize(
        self,
        loss,
        global_step=None,
        var_list=None,
        gate_gradients=GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        name=None,
        grad_loss=None,
    ):
        """An op that updates variables to make `loss` smaller: compute_gradients, then apply_gradients.

        ValueError: no variable has a gradient.
        """
        grads_and_vars = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if not any(g is not None for g, _ in grads_and_vars):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support gradients, "
                f"between variables {[str(v) for _, v in grads_and_vars]} and loss {loss}."
            )
        return self.apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss,
        var_list=None,
        gate_gradients=GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        grad_loss=None,
    ):
        """A list of pairs (gradient, variable); the gradient is a tensor, IndexedSlices, or None where there
        is none.

        loss: the tensor to minimize, or a function that makes it. var_list: None for all trainable variables.
        aggregation_method: one of AggregationMethod. grad_loss: the gradient of `loss`; None for ones.
        """
        if gate_gradients not in (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH. "
                f"Not {gate_gradients}"
            )
        if callable(loss):
            loss = loss()
        loss = _divided_by_replicas(loss)
        self._assert_valid_dtypes([loss])
        if grad_loss is not None:
            self._assert_valid_dtypes([grad_loss])
        if var_list is None:
            var_list = variables.trainable_variables()
            var_list = var_list + ops.get_collection(ops.GraphKeys.TRAINABLE_RESOURCE_VARIABLES)
        else:
            var_list = nest.flatten(var_list)
        if not var_list:
            raise ValueError("No variables to optimize.")
        targets = [_get_processor(v).target() for v in var_list]
        grads = gradients.gradients(
            loss,
            targets,
            grad_ys=grad_loss,
            aggregation_method=aggregation_method,
            gate_gradients=gate_gradients == Optimizer.GATE_OP,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gate_gradients == Optimizer.GATE_GRAPH:
            grads = control_flow_ops.tuple(grads)
        grads_and_vars = list(zip(grads, var_list))
        self._assert_valid_dtypes(
            [v for g, v in grads_and_vars if g is not None and v.dtype != dtypes.resource]
        )
        return grads_and_vars

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """An op that updates each variable by its gradient, and then adds 1 to the variable `global_step`.

        grads_and_vars: pairs as compute_gradients returns them. name: of the op; None for the optimizer's.
        ValueError: no variable has a gradient.
        """
        given = tuple(grads_and_vars)
        if not given:
            raise ValueError("No variables provided.")
        if ds.get_strategy().num_replicas_in_sync > 1:
            if ds.in_cross_replica_context():
                raise RuntimeError("apply_gradients() must be called in a replica context.")
            return ds.get_replica_context().merge_call(self._apply_across, args=(given, global_step, name))
        updates = [(_as_gradient(g), v, _get_processor(v)) for g, v in given]
        var_list = [v for g, v, _ in updates if g is not None]
        if not var_list:
            raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v, _ in updates]}.")
        with ops.init_scope():
            self._create_slots(var_list)
        update_ops = []
        with ops.name_scope(name, self._name) as name:
            self._prepare()
            for grad, var, processor in updates:
                if grad is None:
                    continue
                with ops.name_scope(f"update_{var.op.name}"), ops.colocate_with(var):
                    update_ops.append(processor.update_op(self, grad))
            if global_step is None:
                train_op = self._finish(update_ops, name)
            else:
                with ops.control_dependencies([self._finish(update_ops, "update")]):
                    train_op = _add_one(global_step, name)
            if isinstance(train_op, ops.Tensor):
                train_op = train_op.op
            train_ops = ops.get_collection_ref(ops.GraphKeys.TRAIN_OP)
            if train_op not in train_ops:
                train_ops.append(train_op)
            return train_op

    def _apply_across(self, strategy, grads_and_vars, global_step, name):
        """As apply_gradients, with the gradients of several replicas: their sums update each copy of a
        variable.
        """
        from braid.tensorflow.python.distribute import values

        reduced = [(g, v) for g, v in grads_and_vars if g is not None]
        if not reduced:
            raise ValueError(
                f"No gradients provided for any variable: {[v.name for _, v in grads_and_vars]}."
            )
        with ops.init_scope():
            self._create_slots([v for _, v in reduced])
        update_ops = []
        with ops.name_scope(name, self._name) as name:
            self._prepare()
            for grad, var in reduced:
                grad, copies = strategy.extended._gradient_and_copies(grad, var)
                grad = _as_gradient(grad)
                for i, copy in copies:
                    with ops.name_scope(f"update_{copy.op.name}"), values.update_context(i, copy.device):
                        update_ops.append(_get_processor(copy).update_op(self, grad))
            if global_step is None:
                return self._finish(update_ops, name)
            with ops.control_dependencies([self._finish(update_ops, "update")]):
                return control_flow_ops.group(global_step.assign_add(1, read_value=False), name=name)

    def get_slot(self, var, name):
        """The slot `name` of the variable, or None."""
        return self._slots.get(name, {}).get(_var_key(var))

    def get_slot_names(self):
        """The sorted names of the slots that this optimizer has made."""
        return sorted(self._slots)

    def variables(self):
        """The optimizer's own variables in the current graph, sorted by name: slots and others."""
        graph = ops.get_default_graph()
        own = [v for v in self._non_slot_variables() if v.op.graph is graph]
        for slots in self._slots.values():
            own.extend(v for v in slots.values() if v.op.graph is graph)
        return sorted(own, key=lambda v: v.name)

    # Variables that belong to no other.

    def _create_non_slot_variable(self, initial_value, name, colocate_with):
        """The optimizer's variable `name` of the graph of `colocate_with`, made at the first call."""
        key = (name, colocate_with.op.graph)
        if key not in self._non_slot_dict:
            with ops.colocate_with(colocate_with):
                self._non_slot_dict[key] = variable_scope.variable(
                    initial_value,
                    name=name,
                    trainable=False,
                    use_resource=resource_variable_ops.is_resource_variable(colocate_with),
                )
        return self._non_slot_dict[key]

    def _get_non_slot_variable(self, name, graph=None):
        return self._non_slot_dict.get((name, graph))

    def _non_slot_variables(self):
        return self._non_slot_dict.values()

    @property
    def _checkpoint_dependencies(self):
        """The variables of the current graph that belong to no other, by name."""
        graph = ops.get_default_graph()
        own = [(name, v) for (name, g), v in self._non_slot_dict.items() if g is graph]
        return [trackable.TrackableReference(*pair) for pair in sorted(own, key=lambda pair: pair[0])] + (
            super()._checkpoint_dependencies
        )

    # What optimizers override.

    def _valid_dtypes(self):
        return {dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64}

    def _create_slots(self, var_list):
        """Makes the slots of these variables."""

    def _prepare(self):
        """Makes the tensors that all updates share."""

    def _apply_dense(self, grad, var):
        """The op that updates a variable of reference type by a tensor."""
        raise NotImplementedError()

    def _resource_apply_dense(self, grad, handle):
        """The op that updates a resource variable by a tensor."""
        raise NotImplementedError()

    def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices):
        """The op that updates rows of a resource variable; an index may occur more than once."""
        summed, unique = _deduplicate_indexed_slices(values=grad, indices=indices)
        return self._resource_apply_sparse(summed, handle, unique)

    def _resource_apply_sparse(self, grad, handle, indices):
        """The op that updates rows of a resource variable; each index occurs once."""
        raise NotImplementedError()

    def _apply_sparse_duplicate_indices(self, grad, var):
        """The op that updates rows of a variable by IndexedSlices; an index may occur more than once."""
        summed, unique = _deduplicate_indexed_slices(values=grad.values, indices=grad.indices)
        return self._apply_sparse(ops.IndexedSlices(summed, unique, grad.dense_shape), var)

    def _apply_sparse(self, grad, var):
        """The op that updates rows of a variable by IndexedSlices; each index occurs once."""
        raise NotImplementedError()

    def _finish(self, update_ops, name_scope):
        """The op, named `name_scope`, that is done when all updates are."""
        return control_flow_ops.group(*update_ops, name=name_scope)

    # What optimizers call.

    def _assert_valid_dtypes(self, tensors):
        valid = self._valid_dtypes()
        for t in tensors:
            dtype = t.dtype.base_dtype
            if dtype not in valid:
                raise ValueError(f"Invalid type {dtype!r} for {t.name}, expected: {[v for v in valid]}.")

    def _slot_dict(self, slot_name):
        return self._slots.setdefault(slot_name, {})

    def _get_or_make_slot(self, var, val, slot_name, op_name):
        """The slot of the variable, made with the initial value `val` and the name VARIABLE/op_name at
        first.
        """
        slots, key = self._slot_dict(slot_name), _var_key(var)
        if key not in slots:
            slots[key] = slot_creator.create_slot(var, val, op_name)
        return slots[key]

    def _get_or_make_slot_with_initializer(self, var, initializer, shape, dtype, slot_name, op_name):
        slots, key = self._slot_dict(slot_name), _var_key(var)
        if key not in slots:
            slots[key] = slot_creator.create_slot_with_initializer(var, initializer, shape, dtype, op_name)
        return slots[key]

    def _zeros_slot(self, var, slot_name, op_name):
        slots, key = self._slot_dict(slot_name), _var_key(var)
        if key not in slots:
            slots[key] = slot_creator.create_zeros_slot(var, op_name)
        return slots[key]

    def _call_if_callable(self, param):
        """A hyperparameter may be a function that makes it."""
        return param() if callable(param) else param


def _divided_by_replicas(loss):
    """An Estimator's loss, over the number of replicas, whose gradients are added up."""
    strategy = ds.get_strategy()
    ops.get_default_graph()._is_loss_scaled_by_optimizer = False
    if strategy.num_replicas_in_sync == 1:
        return loss
    from braid.tensorflow.python.distribute import distribute_lib

    if distribute_lib.get_loss_reduction() != distribute_lib.ReduceOp.MEAN:
        return loss
    ops.get_default_graph()._is_loss_scaled_by_optimizer = True
    return loss * (1.0 / strategy.num_replicas_in_sync)


def _as_gradient(g):
    if g is None:
        return None
    try:
        g = ops.convert_to_tensor_or_indexed_slices(g)
    except TypeError:
        raise TypeError(f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {g}") from None
    if not isinstance(g, (ops.Tensor, ops.IndexedSlices)):
        raise TypeError(f"Gradient must be a Tensor, IndexedSlices, or None: {g}")
    return g


def _add_one(global_step, name):
    with ops.colocate_with(global_step):
        if resource_variable_ops.is_resource_variable(global_step):
            one = ops.convert_to_tensor(1, dtype=global_step.dtype)
            return resource_variable_ops.assign_add_variable_op(global_step.handle, one, name=name)
        return state_ops.assign_add(global_step, 1, name=name)
