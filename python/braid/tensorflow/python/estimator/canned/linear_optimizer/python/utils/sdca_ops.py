"""A linear model that stochastic dual coordinate ascent trains.

S. Shalev-Shwartz and T. Zhang, "Proximal Stochastic Dual Coordinate Ascent" (arXiv 1211.2717). The op
SdcaOptimizer does a pass over a batch. Each example has a dual variable, which a table keeps under a hash of
the example's id. The pass changes weights that L1 regularization has not shrunk yet ("slots");
`update_weights` shrinks them into the model's variables.
"""

import collections

from braid.tensorflow.python.estimator.canned.linear_optimizer.python.utils import (
    sharded_mutable_dense_hashtable,
)
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework.ops import internal_convert_to_tensor
from braid.tensorflow.python.framework.ops import name_scope
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import data_flow_ops
from braid.tensorflow.python.ops import gen_sdca_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_impl
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variables as var_ops
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.summary import summary

_LOSSES = ("logistic_loss", "squared_loss", "hinge_loss", "smooth_hinge_loss", "poisson_loss")
_WEIGHTS = ("sparse_features_weights", "dense_features_weights")


class _SparseFeatureColumn:
    """A group of sparse features: for each of N features its example, its index and its value.

    example_indices, feature_indices: int64 [N], ascending by example. feature_values: float32 [N]; None: each
    is 1.
    """

    def __init__(self, example_indices, feature_indices, feature_values):
        with name_scope(None, "SparseFeatureColumn", [example_indices, feature_indices]):
            self._example_indices = internal_convert_to_tensor(
                example_indices, name="example_indices", dtype=dtypes.int64
            )
            self._feature_indices = internal_convert_to_tensor(
                feature_indices, name="feature_indices", dtype=dtypes.int64
            )
        self._feature_values = None
        if feature_values is not None:
            with name_scope(None, "SparseFeatureColumn", [feature_values]):
                self._feature_values = internal_convert_to_tensor(
                    feature_values, name="feature_values", dtype=dtypes.float32
                )

    @property
    def example_indices(self):
        return self._example_indices

    @property
    def feature_indices(self):
        return self._feature_indices

    @property
    def feature_values(self):
        return self._feature_values


def _is_partitioned(var):
    return isinstance(var, (list, var_ops.PartitionedVariable))


def _parts(var):
    return list(var) if _is_partitioned(var) else [var]


class _PartitionedRows:
    """Rows `ids` of a variable in several parts along the first axis."""

    def __init__(self, parts, ids):
        self._parts = parts
        sizes = [self._rows(part) for part in parts]
        starts = math_ops.cumsum(math_ops.cast(array_ops.stack(sizes), ids.dtype), exclusive=True)
        is_after = math_ops.greater_equal(array_ops.expand_dims(ids, 1), starts[1:])
        self._part_of = math_ops.reduce_sum(math_ops.cast(is_after, dtypes.int32), axis=1)
        self._ids = self._split(ids - array_ops.gather(starts, self._part_of))

    @staticmethod
    def _rows(part):
        rows = part.get_shape().as_list()[0] if part.get_shape().ndims else None
        return array_ops.shape(part)[0] if rows is None else rows

    def _split(self, values):
        return data_flow_ops.dynamic_partition(values, self._part_of, len(self._parts))

    def gather(self):
        """The rows."""
        rows = []
        for part, ids in zip(self._parts, self._ids):
            with ops.colocate_with(part):
                rows.append(array_ops.gather(part, ids))
        places = self._split(math_ops.range(array_ops.shape(self._part_of)[0]))
        return data_flow_ops.dynamic_stitch(places, rows)

    def scatter_add(self, updates):
        """Operations that add `updates` to the rows."""
        result = []
        for part, ids, update in zip(self._parts, self._ids, self._split(updates)):
            with ops.colocate_with(part):
                result.append(state_ops.scatter_add(part, ids, update))
        return result


class _Rows:
    """Rows `ids` of a variable in one part."""

    def __init__(self, var, ids):
        self._var, self._ids = var, ids

    def gather(self):
        weights = internal_convert_to_tensor(self._var)
        with ops.device(weights.device):
            return array_ops.gather(weights, self._ids)

    def scatter_add(self, updates):
        return [state_ops.scatter_add(self._var, self._ids, updates)]


class _SDCAModel:
    """A linear model and the operations that train it.

    examples: a dict of sparse_features (a list of _SparseFeatureColumn), dense_features (a list of float32
    [examples, n]), example_labels, example_weights (float32 [examples]) and example_ids (string [examples]).
    variables: a dict of sparse_features_weights (a list of [indices]) and dense_features_weights (a list of
    [n]); a variable may have several parts. options: a dict of loss_type, symmetric_l1_regularization,
    symmetric_l2_regularization and, optionally, num_loss_partitions (optimizers that work at the same time),
    num_table_shards and adaptive (sampling, True).

        model = _SDCAModel(examples, variables, options)
        train_op = model.minimize()
        update_op = model.update_weights(train_op)
    """

    # What the names of slots end with, and how they are called.
    _slot_suffix = "_unshrunk"
    _slot_prefix = "unshrunk_"

    def __init__(self, examples, variables, options):
        if not examples or not variables or not options:
            raise ValueError("examples, variables and options must all be specified.")
        if options["loss_type"] not in _LOSSES:
            raise ValueError("Unsupported loss_type: ", options["loss_type"])
        self._assert_specified(
            ["example_labels", "example_weights", "example_ids", "sparse_features", "dense_features"],
            examples,
        )
        self._assert_list(["sparse_features", "dense_features"], examples)
        self._assert_specified(_WEIGHTS, variables)
        self._assert_list(_WEIGHTS, variables)
        self._assert_specified(
            ["loss_type", "symmetric_l2_regularization", "symmetric_l1_regularization"], options
        )
        self._check_regularization(options)
        self._examples = examples
        self._variables = variables
        self._options = options
        self._create_slots()
        self._hashtable = self._make_table(
            key_dtype=dtypes.int64,
            value_dtype=dtypes.float32,
            num_shards=self._num_table_shards(),
            default_value=[0.0, 0.0, 0.0, 0.0],
            # SdcaFprint's first number is neither 0 nor 1.
            empty_key=[0, 0],
            deleted_key=[1, 1],
        )
        summary.scalar("approximate_duality_gap", self.approximate_duality_gap())
        summary.scalar("examples_seen", self._hashtable.size())

    _make_table = sharded_mutable_dense_hashtable._ShardedMutableDenseHashTable

    @staticmethod
    def _check_regularization(options):
        if options["symmetric_l2_regularization"] <= 0.0:
            raise ValueError("symmetric_l2_regularization should be positive.")
        if options["symmetric_l2_regularization"] <= 1.0:
            logging.warn(
                "symmetric_l2_regularization is at most 1. SDCA divides by it: a number about the mean L2 "
                "norm of the examples is usual."
            )
        if options["symmetric_l1_regularization"] < 0.0:
            raise ValueError("symmetric_l1_regularization should be non-negative.")

    @staticmethod
    def _assert_specified(items, given):
        for item in items:
            if given[item] is None:
                raise ValueError(f"{item} must be specified.")

    @staticmethod
    def _assert_list(items, given):
        for item in items:
            if not isinstance(given[item], list):
                raise ValueError(item + " must be a list.")

    # ---- Options ----

    def _symmetric_l1_regularization(self):
        return self._options["symmetric_l1_regularization"]

    def _symmetric_l2_regularization(self):
        return self._options["symmetric_l2_regularization"]

    def _num_loss_partitions(self):
        return self._options.get("num_loss_partitions", 1)

    def _adaptive(self):
        return self._options.get("adaptive", True)

    def _num_table_shards(self):
        return self._options.get("num_table_shards") or 1

    # ---- Weights ----

    def _new_slot(self, var):
        return var_ops.VariableV1(
            initial_value=array_ops.zeros_like(var.initialized_value(), dtypes.float32),
            name=var.op.name + self._slot_suffix,
            use_resource=True,
        )

    def _create_slots(self):
        self._slots = collections.defaultdict(list)
        for name in _WEIGHTS:
            slots = self._slots[self._slot_prefix + name]
            for var in self._variables[name]:
                if _is_partitioned(var):
                    parts = []
                    for part in var:
                        with ops.colocate_with(part):
                            parts.append(self._new_slot(part))
                    slots.append(parts)
                else:
                    with ops.device(var.device):
                        slots.append(self._new_slot(var))

    def _all_weights(self):
        return [part for name in _WEIGHTS for var in self._variables[name] for part in _parts(var)]

    def _sum_of_weights(self, fn):
        """The sum of a function of each weight, in float64."""
        sums = []
        for var in self._all_weights():
            weights = internal_convert_to_tensor(var)
            with ops.device(weights.device):
                sums.append(math_ops.reduce_sum(fn(math_ops.cast(weights, dtypes.float64))))
        return math_ops.add_n(sums)

    def _l1_loss(self):
        with name_scope("sdca/l1_loss"):
            return self._symmetric_l1_regularization() * self._sum_of_weights(math_ops.abs)

    def _l2_loss(self, l2):
        with name_scope("sdca/l2_loss"):
            return l2 * self._sum_of_weights(math_ops.square) / 2.0

    @staticmethod
    def _to_tensors(values, as_ref=False):
        """Tensors of values and variables; the parts of a variable are concatenated."""
        return [
            internal_convert_to_tensor(
                array_ops.concat(_parts(x), axis=0) if _is_partitioned(x) else x, as_ref=as_ref
            )
            for x in values
        ]

    # ---- Predictions and losses ----

    def _linear_predictions(self, examples):
        """The weighted sums of features: float32 [examples]."""
        with name_scope("sdca/prediction"):
            batch_size = array_ops.shape(examples["example_ids"])[0]
            result = array_ops.zeros([batch_size])
            for column, weights in zip(
                examples["sparse_features"], self._to_tensors(self._variables["sparse_features_weights"])
            ):
                products = array_ops.gather(weights, column.feature_indices)
                if column.feature_values is not None:
                    products = math_ops.multiply(products, column.feature_values)
                # The last examples may have no features.
                sums = math_ops.segment_sum(products, column.example_indices)
                result += array_ops.pad(sums, [[0, batch_size - array_ops.shape(sums)[0]]])
            for features, weights in zip(
                self._to_tensors(examples["dense_features"]),
                self._to_tensors(self._variables["dense_features_weights"]),
            ):
                column = array_ops.reshape(weights, [-1, 1])
                result += array_ops.squeeze(math_ops.matmul(features, column), axis=1)
        return result

    def predictions(self, examples):
        """Predictions for examples: probabilities (logistic_loss), means (poisson_loss) or weighted sums."""
        self._assert_specified(["example_weights", "sparse_features", "dense_features"], examples)
        self._assert_list(["sparse_features", "dense_features"], examples)
        result = self._linear_predictions(examples)
        if self._options["loss_type"] == "logistic_loss":
            with name_scope("sdca/logistic_prediction"):
                return math_ops.sigmoid(result)
        if self._options["loss_type"] == "poisson_loss":
            with name_scope("sdca/poisson_prediction"):
                return math_ops.exp(result)
        return result

    def _example_losses(self, labels, predictions):
        loss = self._options["loss_type"]
        if loss == "logistic_loss":
            return nn_impl.sigmoid_cross_entropy_with_logits(labels=labels, logits=predictions)
        if loss == "poisson_loss":
            return nn_impl.log_poisson_loss(targets=labels, log_input=predictions)
        if loss == "squared_loss":
            return math_ops.square(labels - predictions) / 2.0
        # Labels of the hinge are -1 and 1.
        ones = array_ops.ones_like(predictions)
        return nn_ops.relu(ones - (2 * labels - ones) * predictions)

    def unregularized_loss(self, examples):
        """The weighted mean of the examples' losses."""
        self._assert_specified(
            ["example_labels", "example_weights", "sparse_features", "dense_features"], examples
        )
        self._assert_list(["sparse_features", "dense_features"], examples)
        with name_scope("sdca/unregularized_loss"):
            predictions = math_ops.cast(self._linear_predictions(examples), dtypes.float64)
            labels, weights = (
                math_ops.cast(internal_convert_to_tensor(examples[key]), dtypes.float64)
                for key in ("example_labels", "example_weights")
            )
            losses = self._example_losses(labels, predictions)
            return math_ops.reduce_sum(losses * weights) / math_ops.reduce_sum(weights)

    def regularized_loss(self, examples):
        """unregularized_loss and the regularization, over the sum of the examples' weights."""
        self._assert_specified(
            ["example_labels", "example_weights", "sparse_features", "dense_features"], examples
        )
        self._assert_list(["sparse_features", "dense_features"], examples)
        with name_scope("sdca/regularized_loss"):
            weights = internal_convert_to_tensor(examples["example_weights"])
            # The program's number, not the one that the optimizer makes of it.
            l2 = self._options["symmetric_l2_regularization"]
            return (self._l1_loss() + self._l2_loss(l2)) / math_ops.reduce_sum(
                math_ops.cast(weights, dtypes.float64)
            ) + self.unregularized_loss(examples)

    def approximate_duality_gap(self):
        """The duality gap over all examples that have been seen, per weight; NaN before there are any.

        The losses are those of the pass in which each example was last seen.
        """
        with name_scope("sdca/approximate_duality_gap"):
            sums = []
            for values in self._hashtable.export_sharded()[1]:
                # One part after the other, since a copy in float64 may be large.
                with ops.device(values.device), ops.control_dependencies(sums):
                    sums.append(math_ops.reduce_sum(math_ops.cast(values, dtypes.float64), 0))
            _, primal, dual, weights = array_ops.unstack(math_ops.add_n(sums), num=4)
            l2_loss = self._l2_loss(self._symmetric_l2_regularization())
            return (primal + dual + self._l1_loss() + 2.0 * l2_loss) / weights

    # ---- Training ----

    def _sparse_rows(self):
        """The features that the examples have, and their weights."""
        rows, indices = [], []
        slots = self._slots[self._slot_prefix + "sparse_features_weights"]
        for var, column in zip(slots, self._examples["sparse_features"]):
            ids = array_ops.unique(math_ops.cast(column.feature_indices, dtypes.int32))[0]
            ids = math_ops.cast(ids, dtypes.int64)
            indices.append(ids)
            rows.append(_PartitionedRows(var, ids) if _is_partitioned(var) else _Rows(var, ids))
        return rows, indices

    def _dense_updates(self, updates):
        result = []
        for var, update in zip(self._slots[self._slot_prefix + "dense_features_weights"], updates):
            parts = _parts(var)
            if len(parts) > 1:
                pieces = array_ops.split(update, [part.get_shape().as_list()[0] for part in parts])
            else:
                pieces = [update]
            result += [state_ops.assign_add(part, piece) for part, piece in zip(parts, pieces)]
        return result

    def minimize(self, global_step=None, name=None):
        """An operation that does a pass over the examples, and counts it in `global_step`."""
        with name_scope(name, "sdca/minimize"):
            columns = self._examples["sparse_features"]
            ids = gen_sdca_ops.sdca_fprint(internal_convert_to_tensor(self._examples["example_ids"]))
            rows, indices = self._sparse_rows()
            state, sparse_updates, dense_updates = gen_sdca_ops.sdca_optimizer_v2(
                [column.example_indices for column in columns],
                [column.feature_indices for column in columns],
                [column.feature_values for column in columns if column.feature_values is not None],
                self._to_tensors(self._examples["dense_features"]),
                internal_convert_to_tensor(self._examples["example_weights"]),
                internal_convert_to_tensor(self._examples["example_labels"]),
                indices,
                [row.gather() for row in rows],
                self._to_tensors(self._slots[self._slot_prefix + "dense_features_weights"]),
                self._hashtable.lookup(ids),
                loss_type=self._options["loss_type"],
                l1=self._symmetric_l1_regularization(),
                l2=self._symmetric_l2_regularization(),
                num_loss_partitions=self._num_loss_partitions(),
                num_inner_iterations=1,
                adaptive=self._adaptive(),
            )
            with ops.control_dependencies([state]):
                updates = [self._hashtable.insert(ids, state)]
                for row, update in zip(rows, sparse_updates):
                    updates += row.scatter_add(update)
                updates += self._dense_updates(dense_updates)
            if global_step is None:
                return control_flow_ops.group(*updates)
            with ops.control_dependencies(updates):
                return state_ops.assign_add(global_step, 1, name=name).op

    def _shrink(self, var):
        """The proximal step of L1 regularization."""
        shrinkage = self._symmetric_l1_regularization() / self._symmetric_l2_regularization()
        return var.assign(math_ops.sign(var) * math_ops.maximum(0.0, math_ops.abs(var) - shrinkage))

    def update_weights(self, train_op):
        """An operation that gives the model's variables their values after `train_op` (of minimize).

        Of several workers one at least has to run it.
        """
        with ops.control_dependencies([train_op]):
            updates = []
            for name in _WEIGHTS:
                for var, slot in zip(self._variables[name], self._slots[self._slot_prefix + name]):
                    updates += [v.assign(s) for v, s in zip(_parts(var), _parts(slot))]
        if self._symmetric_l1_regularization() > 0:
            with ops.control_dependencies(updates):
                updates = []
                for var in self._all_weights():
                    with ops.device(var.device):
                        updates.append(self._shrink(var))
        return control_flow_ops.group(*updates)
