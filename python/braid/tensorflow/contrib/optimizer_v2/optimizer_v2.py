"""The base of optimizers whose slots, other variables and hyperparameters are a state, one for each graph."""

from braid.tensorflow.python.distribute import distribution_strategy_context as ds
from braid.tensorflow.python.distribute import reduce_util
from braid.tensorflow.python.eager import backprop
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gradients
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.training import optimizer as optimizer_v1
from braid.tensorflow.python.training import slot_creator
from braid.tensorflow.python.training.tracking import base as trackable
from braid.tensorflow.python.util import nest

_var_key = optimizer_v1._var_key


class _State:
    """The variables of an optimizer in a graph, and the tensors of its hyperparameters.

    Variables last as long as the graph. A hyperparameter that is a function is called for each
    apply_gradients, which has a copy of the state.
    """

    def __init__(self, op_name, hyper):
        self._op_name = op_name
        self._slots = {}  # name of the slot -> key of the variable -> its slot
        self._non_slots = {}  # name -> variable
        self._anchor = None  # the variable beside which others are made
        with ops.init_scope():
            self._hyper = {
                name: {None: ops.convert_to_tensor(value, name=name)}
                for name, value in sorted(hyper.items())
                if not callable(value)
            }

    def _for_step(self, hyper, anchor):
        """A state with the same variables and with all hyperparameters."""
        step = _State(self._op_name, {})
        step._slots, step._non_slots, step._anchor = self._slots, self._non_slots, anchor
        step._hyper = {
            name: {None: ops.convert_to_tensor(value(), name=name)}
            for name, value in sorted(hyper.items())
            if callable(value)
        }
        step._hyper.update(self._hyper)
        return step

    def _variables(self):
        own = list(self._non_slots.values())
        for slots in self._slots.values():
            own.extend(slots.values())
        return sorted(own, key=lambda v: v.name)

    def _slot(self, var, slot_name, make):
        slots, key = self._slots.setdefault(slot_name, {}), _var_key(var)
        if key not in slots:
            slots[key] = make()
        return slots[key]

    def create_slot(self, var, val, slot_name, optional_op_name=None):
        """The slot of a variable, made with the initial value `val` at first."""
        name = optional_op_name or self._op_name
        return self._slot(var, slot_name, lambda: slot_creator.create_slot(var, val, name))

    def create_slot_with_initializer(self, var, initializer, shape, dtype, slot_name, optional_op_name=None):
        """The slot of a variable, made by an initializer at first."""
        name = optional_op_name or self._op_name
        return self._slot(
            var,
            slot_name,
            lambda: slot_creator.create_slot_with_initializer(var, initializer, shape, dtype, name),
        )

    def zeros_slot(self, var, slot_name, optional_op_name=None):
        """The slot of a variable, which begins with zeros."""
        name = optional_op_name or self._op_name
        return self._slot(var, slot_name, lambda: slot_creator.create_zeros_slot(var, name))

    def get_slot(self, var, name):
        """The slot, or None."""
        return self._slots.get(name, {}).get(_var_key(var))

    def get_slot_names(self):
        """The sorted names of the slots."""
        return sorted(self._slots)

    def create_non_slot(self, initial_value, name, colocate_with=None):
        """A variable that belongs to no other, made at first."""
        if name not in self._non_slots:
            with ops.colocate_with(self._anchor if colocate_with is None else colocate_with):
                self._non_slots[name] = variable_scope.variable(initial_value, name=name, trainable=False)
        return self._non_slots[name]

    def get_non_slot(self, name):
        """The variable, or None."""
        return self._non_slots.get(name)

    def get_hyper(self, name, dtype=None):
        """The tensor of a hyperparameter, of type `dtype`."""
        by_type = self._hyper[name]
        if dtype not in by_type:
            by_type[dtype] = math_ops.cast(by_type[None], dtype)
        return by_type[dtype]


class _WithState:
    """The methods of an optimizer that update a variable, with the state as their last argument."""

    def __init__(self, optimizer, state):
        self._optimizer, self._state = optimizer, state

    def __getattr__(self, name):
        method = getattr(self._optimizer, name)
        return lambda *args: method(*args, self._state)


class OptimizerV2(optimizer_v1.Optimizer):
    """The base of optimizers.

    An optimizer gives its hyperparameters to `_set_hyper`: numbers, tensors, or functions that make one. It
    overrides `_create_vars`, `_prepare` and `_finish`, and what tf.train.Optimizer's do to update variables.
    These get a state, which has `get_hyper`, `get_slot` and `get_non_slot`, and what makes slots.
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking, name):
        """use_locking: updates hold the variable's lock. name: of the nodes and of the slots."""
        if type(self)._create_slots is not OptimizerV2._create_slots:
            raise RuntimeError(
                "Override _create_vars instead of _create_slots when descending from OptimizerV2 (class "
                f"{type(self).__name__})"
            )
        super().__init__(use_locking, name)
        self._per_graph_state = {}  # key of the graph -> _State
        self._hyper = {}

    def _set_hyper(self, name, value):
        self._hyper[name] = value

    def minimize(
        self,
        loss,
        global_step=None,
        var_list=None,
        gate_gradients=GATE_OP,
        aggregation_method=None,
        name=None,
        grad_loss=None,
        stop_gradients=None,
        scale_loss_by_num_replicas=False,
    ):
        """An op that updates variables to make `loss` smaller: compute_gradients, then apply_gradients."""
        grads_and_vars = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            grad_loss=grad_loss,
            stop_gradients=stop_gradients,
            scale_loss_by_num_replicas=scale_loss_by_num_replicas,
        )
        if all(g is None for g, _ in grads_and_vars):
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
        grad_loss=None,
        stop_gradients=None,
        scale_loss_by_num_replicas=False,
    ):
        """A list of pairs (gradient, variable); the gradient is None where there is none.

        Args:
          loss: the tensor to minimize, or a function that makes it. With a function and without `var_list`
            the variables are those that the function reads.
          var_list: None for all trainable variables.
          gate_gradients: GATE_NONE, GATE_OP or GATE_GRAPH, see tf.train.Optimizer.
          aggregation_method: one of AggregationMethod.
          grad_loss: the gradient of `loss`; None for ones.
          stop_gradients: tensors that gradients do not go through.
          scale_loss_by_num_replicas: whether the loss is divided by the number of replicas.
        """
        if callable(loss):
            with backprop.GradientTape() as tape:
                if var_list is not None:
                    tape.watch(var_list)
                value = self._scale_loss(loss(), scale_loss_by_num_replicas)
            if var_list is None:
                var_list = tape.watched_variables()
            return list(zip(tape.gradient(value, var_list, grad_loss), var_list))
        loss = self._scale_loss(loss, scale_loss_by_num_replicas)
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH.  "
                f"Not {gate_gradients}"
            )
        self._assert_valid_dtypes([loss] if grad_loss is None else [loss, grad_loss])
        if var_list is None:
            var_list = variables.trainable_variables()
            var_list = var_list + ops.get_collection(ops.GraphKeys.TRAINABLE_RESOURCE_VARIABLES)
        else:
            var_list = nest.flatten(var_list)
        targets = [optimizer_v1._get_processor(v).target() for v in var_list]
        if not var_list:
            raise ValueError("No variables to optimize.")
        grads = gradients.gradients(
            loss,
            targets,
            grad_ys=grad_loss,
            gate_gradients=gate_gradients == self.GATE_OP,
            aggregation_method=aggregation_method,
            stop_gradients=stop_gradients,
        )
        if gate_gradients == self.GATE_GRAPH:
            grads = control_flow_ops.tuple(grads)
        pairs = list(zip(grads, var_list))
        self._assert_valid_dtypes([v for g, v in pairs if g is not None and v.dtype != dtypes.resource])
        return pairs

    @staticmethod
    def _scale_loss(loss, scale_loss_by_num_replicas):
        replicas = ds.get_strategy().num_replicas_in_sync
        return loss * (1.0 / replicas) if scale_loss_by_num_replicas and replicas > 1 else loss

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """An op that updates each variable by its gradient, and then adds 1 to the variable `global_step`.

        grads_and_vars: pairs as compute_gradients returns them. name: of the op; None for the optimizer's.
        """
        grads_and_vars = tuple(grads_and_vars)
        if not grads_and_vars:
            raise ValueError("No variables provided.")
        with_gradient = tuple((g, v) for g, v in grads_and_vars if g is not None)
        if not with_gradient:
            raise ValueError(
                f"No gradients provided for any variable: {[str(v) for _, v in grads_and_vars]}."
            )
        return ds.get_replica_context().merge_call(
            self._distributed_apply,
            args=(with_gradient,),
            kwargs={"global_step": global_step, "name": name},
        )

    def _distributed_apply(self, distribution, grads_and_vars, global_step, name):
        """apply_gradients, across replicas: the sums of their gradients update each copy of a variable."""
        extended = distribution.extended
        reduced = extended.batch_reduce_to(reduce_util.ReduceOp.SUM, grads_and_vars)
        var_list = [v for _, v in grads_and_vars]
        anchor = min(var_list, key=lambda v: v.name)
        non_slot_devices = extended.non_slot_devices(var_list)
        with ops.name_scope(name, self._name) as name:
            state = self._state_of(var_list[0].op.graph)._for_step(self._hyper, anchor)
        with ops.init_scope():
            self._create_vars(var_list, state)
        bound = _WithState(self, state)

        def update(variable, gradient):
            gradient = optimizer_v1._as_gradient(gradient)
            with ops.name_scope("update_" + variable.op.name):
                return optimizer_v1._get_processor(variable).update_op(bound, gradient)

        with ops.name_scope(name):
            self._prepare(state)
            updates = [extended.update(v, update, args=(g,)) for g, v in zip(reduced, var_list)]
            done = control_flow_ops.group(*updates)
            with ops.control_dependencies([done]):
                finished = (
                    extended.update_non_slot(
                        non_slot_devices, lambda: self._finish(state) or control_flow_ops.group()
                    )
                    if type(self)._finish is not OptimizerV2._finish
                    else done
                )
            if global_step is None:
                train_op = control_flow_ops.group(finished, name=name)
            else:
                is_one = distribution.num_replicas_in_sync == 1
                with ops.control_dependencies([finished]):
                    train_op = extended.update(
                        global_step,
                        lambda step: step.assign_add(1, read_value=False, name=name if is_one else None),
                    )
                    if not is_one:
                        train_op = control_flow_ops.group(train_op, name=name)
            if isinstance(train_op, ops.Tensor):
                train_op = train_op.op
            train_ops = ops.get_collection_ref(ops.GraphKeys.TRAIN_OP)
            if train_op not in train_ops:
                train_ops.append(train_op)
            return train_op

    # ---- The state ----

    def _state_of(self, graph):
        if graph._graph_key not in self._per_graph_state:
            self._per_graph_state[graph._graph_key] = _State(self._name, self._hyper)
        return self._per_graph_state[graph._graph_key]

    def _get_per_graph_state(self):
        return self._per_graph_state.get(ops.get_default_graph()._graph_key)

    def get_slot(self, var, name):
        """The slot `name` of the variable, or None."""
        state = self._per_graph_state.get(var.op.graph._graph_key)
        return None if state is None else state.get_slot(var, name)

    def get_slot_names(self):
        """The sorted names of the slots that this optimizer has in the current graph."""
        state = self._get_per_graph_state()
        return [] if state is None else state.get_slot_names()

    def variables(self):
        """The optimizer's own variables in the current graph, sorted by name."""
        state = self._get_per_graph_state()
        return [] if state is None else state._variables()

    @property
    def _checkpoint_dependencies(self):
        state = self._get_per_graph_state()
        own = {} if state is None else state._non_slots
        return [trackable.TrackableReference(name=name, ref=own[name]) for name in sorted(own)]

    def _lookup_dependency(self, name):
        state = self._get_per_graph_state()
        return None if state is None else state.get_non_slot(name)

    def _track_trackable(self, *args, **kwargs):
        raise NotImplementedError("Optimizers may not have dependencies.")

    # ---- What optimizers override ----

    def _create_vars(self, var_list, state):
        """Makes the slots of these variables, and variables that belong to no other."""

    def _prepare(self, state):
        """What comes before the updates."""

    def _apply_dense(self, grad, var, state):
        """The op that updates a variable of reference type by a tensor."""
        raise NotImplementedError()

    def _resource_apply_dense(self, grad, handle, state):
        """The op that updates a resource variable by a tensor."""
        raise NotImplementedError()

    def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices, state):
        """The op that updates rows of a resource variable; an index may occur more than once."""
        summed, unique = optimizer_v1._deduplicate_indexed_slices(values=grad, indices=indices)
        return self._resource_apply_sparse(summed, handle, unique, state)

    def _resource_apply_sparse(self, grad, handle, indices, state):
        """The op that updates rows of a resource variable; each index occurs once."""
        raise NotImplementedError()

    def _apply_sparse_duplicate_indices(self, grad, var, state):
        """The op that updates rows of a variable by IndexedSlices; an index may occur more than once."""
        summed, unique = optimizer_v1._deduplicate_indexed_slices(values=grad.values, indices=grad.indices)
        return self._apply_sparse(ops.IndexedSlices(summed, unique, grad.dense_shape), var, state)

    def _apply_sparse(self, grad, var, state):
        """The op that updates rows of a variable by IndexedSlices; each index occurs once."""
        raise NotImplementedError()

    def _finish(self, state):
        """The op that runs after all updates, or None."""

    # ---- What tf.train.Optimizer's have, and these have in their state ----

    def _slot_dict(self, slot_name):
        raise NotImplementedError("_slot_dict() method unsupported in OptimizerV2")

    def _get_or_make_slot(self, var, val, slot_name, op_name):
        raise NotImplementedError("_get_or_make_slot() method unsupported in OptimizerV2")

    def _get_or_make_slot_with_initializer(self, var, initializer, shape, dtype, slot_name, op_name):
        raise NotImplementedError("_get_or_make_slot_with_initializer() method unsupported in OptimizerV2")

    def _create_non_slot_variable(self, initial_value, name, colocate_with):
        raise NotImplementedError("_create_non_slot_variable() method unsupported in OptimizerV2")

    def _get_non_slot_variable(self, name, graph=None):
        raise NotImplementedError("_get_non_slot_variable() method unsupported in OptimizerV2")

    def _non_slot_variables(self):
        raise NotImplementedError("_non_slot_variables() method unsupported in OptimizerV2")
