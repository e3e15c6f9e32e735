"""Pruning by magnitude (Zhu and Gupta, 2017): masks of the largest weights, whose part shrinks while
training."""

import re

from braid.tensorflow.contrib.model_pruning.python import pruning_utils
from braid.tensorflow.contrib.model_pruning.python.layers import core_layers
from braid.tensorflow.contrib.training.python.training import hparam
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_impl
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import training_util


def apply_mask(x, scope=""):
    """x times a mask, whose variable and whose threshold's are in `scope`."""
    mask = pruning_utils.weight_mask_variable(x, scope)
    threshold = pruning_utils.weight_threshold_variable(x, scope)
    masked = math_ops.multiply(mask, x, core_layers.MASKED_WEIGHT_NAME)
    core_layers.collect(mask, threshold, masked, x)
    return masked


def get_masked_weights():
    return ops.get_collection(core_layers.MASKED_WEIGHT_COLLECTION)


def get_masks():
    return ops.get_collection(core_layers.MASK_COLLECTION)


def get_thresholds():
    return ops.get_collection(core_layers.THRESHOLD_COLLECTION)


def get_weights():
    return ops.get_collection(core_layers.WEIGHT_COLLECTION)


def get_weight_sparsity():
    """The part of zeros of each mask."""
    return [nn_impl.zero_fraction(mask) for mask in get_masks()]


def get_pruning_hparams():
    """The settings of Pruning.

    Masks are updated every pruning_frequency steps from begin_pruning_step to end_pruning_step (-1: for
    ever). The part of zeros goes from initial_sparsity to target_sparsity between
    sparsity_function_begin_step and sparsity_function_end_step. weight_sparsity_map: "NAME:SPARSITY" and
    block_dims_map: "NAME:HEIGHTxWIDTH", for weights whose names match the regular expression. block_height,
    block_width: blocks of so many weights are zero together, by their mean or maximum ("AVG", "MAX").
    threshold_decay: that of the average of thresholds. nbins: of no use, as in TensorFlow.
    """
    return hparam.HParams(
        name="model_pruning",
        begin_pruning_step=0,
        end_pruning_step=-1,
        weight_sparsity_map=[""],
        block_dims_map=[""],
        threshold_decay=0.0,
        pruning_frequency=10,
        nbins=256,
        block_height=1,
        block_width=1,
        block_pooling_function="AVG",
        initial_sparsity=0.0,
        target_sparsity=0.5,
        sparsity_function_begin_step=0,
        sparsity_function_end_step=100,
        sparsity_function_exponent=3.0,
        use_tpu=False,
    )


def _validate(spec):
    if spec.begin_pruning_step < 0:
        raise ValueError("Illegal value for begin_pruning_step")
    if spec.begin_pruning_step >= spec.end_pruning_step and spec.end_pruning_step != -1:
        raise ValueError(
            f"Pruning must begin before it can end. begin_step={spec.begin_pruning_step}, "
            f"end_step={spec.end_pruning_step}. Set end_pruning_step to -1 if pruning is required till training "
            "stops"
        )
    if spec.sparsity_function_begin_step < 0:
        raise ValueError("Illegal value for sparsity_function_begin_step")
    if spec.sparsity_function_begin_step >= spec.sparsity_function_end_step:
        raise ValueError("Sparsity function requires begin_step < end_step")
    for name in ("threshold_decay", "initial_sparsity", "target_sparsity"):
        if not 0.0 <= getattr(spec, name) < 1.0:
            raise ValueError(f"{name} must be in range [0,1)")


def _by_expression(pairs, parse):
    """[(regular expression, value)] of "EXPRESSION:VALUE"."""
    split = (pair.split(":") for pair in pairs if pair)
    return [(re.compile(name), parse(name, value)) for name, value in split]


def _block_dims(name, value):
    dims = value.split("x")
    if len(dims) != 2:
        raise ValueError(f"Expected 2 values for block dim for {name}, got {dims}")
    return [int(dims[0]), int(dims[1])]


def _below_one(_, value):
    if float(value) >= 1.0:
        raise ValueError("Weight sparsity can not exceed 1.0")
    return float(value)


def _match(table, name, what):
    """The value for the only expression that is found in a name, or None."""
    found = [value for expression, value in table if expression.search(name)]
    if len(found) > 1:
        raise ValueError(f"Multiple matches in {what} for weight {name}")
    return found[0] if found else None


class Pruning:
    """Updates the masks of all masked weights of the graph."""

    def __init__(self, spec=None, global_step=None, sparsity=None):
        """spec: settings as get_pruning_hparams() gives. sparsity: the part of zeros, a tensor, in their
        place."""
        self._spec = spec if spec else get_pruning_hparams()
        _validate(self._spec)
        step = training_util.get_global_step() if global_step is None else global_step
        self._global_step = math_ops.cast(step, dtypes.int32)
        self._sparsity = self._setup_sparsity() if sparsity is None else sparsity
        self._assign_ops = []
        self._last_update_step = self._setup_last_update_step()
        self._block_dims = [self._spec.block_height, self._spec.block_width]
        self._block_pooling_function = self._spec.block_pooling_function
        self._block_dims_map = _by_expression(self._spec.block_dims_map, _block_dims)
        self._weight_sparsity_map = _by_expression(self._spec.weight_sparsity_map, _below_one)

    def _setup_sparsity(self):
        spec = self._spec
        begin, end = spec.sparsity_function_begin_step, spec.sparsity_function_end_step
        with ops.name_scope(spec.name):
            part = math_ops.cast(self._global_step - begin, dtypes.float32) / (end - begin)
            left = math_ops.pow(
                1 - math_ops.minimum(1.0, math_ops.maximum(0.0, part)), spec.sparsity_function_exponent
            )
            change = (spec.initial_sparsity - spec.target_sparsity) * left
            return math_ops.add(change, spec.target_sparsity, name="sparsity")

    def _setup_last_update_step(self):
        with variable_scope.variable_scope(
            self._spec.name, use_resource=self._spec.use_tpu, reuse=variable_scope.AUTO_REUSE
        ):
            return variable_scope.get_variable(
                "last_mask_update_step",
                [],
                initializer=init_ops.zeros_initializer(),
                trainable=False,
                dtype=dtypes.int32,
            )

    def _get_block_dims(self, weight_name):
        dims = _match(self._block_dims_map, weight_name, "block_dims_map")
        return self._block_dims if dims is None else dims

    def _get_sparsity(self, weight_name):
        target = _match(self._weight_sparsity_map, weight_name, "weight_sparsity_map")
        return self._sparsity if target is None else self._sparsity * (target / self._spec.target_sparsity)

    def _update_mask(self, weights, threshold, name):
        """(the threshold that leaves as many weights as it should, the mask)."""
        if self._sparsity is None:
            raise ValueError("Sparsity variable undefined")
        sparsity, decay = self._get_sparsity(name), self._spec.threshold_decay
        with ops.name_scope(name + "_pruning_ops"):
            sizes = math_ops.abs(weights)
            number = array_ops.size(sizes)
            left = math_ops.round(math_ops.cast(number, dtypes.float32) * (1 - sparsity))
            ordered, _ = nn_ops.top_k(array_ops.reshape(sizes, [-1]), k=number)
            now = array_ops.gather(ordered, math_ops.cast(left, dtypes.int32) - 1)
            smoothed = now * (1 - decay) + threshold * decay
            return smoothed, math_ops.cast(math_ops.greater_equal(sizes, smoothed), dtypes.float32)

    def _maybe_update_block_mask(self, weights, threshold):
        """As _update_mask, of blocks where these are asked for and the weights are a matrix."""
        name = weights.op.name
        squeezed = array_ops.squeeze(weights)
        dims = self._get_block_dims(name)
        if squeezed.get_shape().ndims != 2 or list(dims) == [1, 1]:
            return self._update_mask(weights, threshold, name)
        sizes = squeezed.get_shape().as_list()
        dims = [size if dim == -1 else dim for dim, size in zip(dims, sizes)]
        if self._block_pooling_function not in ("AVG", "MAX"):
            raise ValueError(f"Unknown pooling function for block sparsity: {self._block_pooling_function}")
        with ops.name_scope(name + "_pruning_ops"):
            settings = dict(
                window_shape=dims,
                pooling_type=self._block_pooling_function,
                strides=dims,
                padding="SAME",
                name=name + "_pooled",
            )
            if self._spec.use_tpu:
                pooled = pruning_utils.factorized_pool(math_ops.abs(squeezed), **settings)
            else:
                pooled = nn_ops.pool(math_ops.abs(squeezed)[None, :, :, None], **settings)[0, :, :, 0]
            new_threshold, mask = self._update_mask(pooled, threshold, name)
            mask = pruning_utils.expand_tensor(mask, dims)[: sizes[0], : sizes[1]]
        return new_threshold, array_ops.reshape(mask, array_ops.shape(weights))

    def _get_mask_assign_ops(self):
        if self._assign_ops:
            raise ValueError("Assign op list not empty. _get_mask_assign_ops() called twice?")
        masks, weights, thresholds = get_masks(), get_weights(), get_thresholds()
        if len(masks) != len(thresholds):
            raise ValueError(
                f"Number of masks {len(masks)} and number of thresholds {len(thresholds)} mismatch"
            )
        for mask, weight, threshold in zip(masks, weights, thresholds):
            is_partitioned = isinstance(weight, variables.PartitionedVariable)
            value = weight.as_tensor() if is_partitioned else weight
            new_threshold, new_mask = self._maybe_update_block_mask(value, threshold)
            assign = (
                pruning_utils.partitioned_variable_assign if is_partitioned else pruning_utils.variable_assign
            )
            self._assign_ops.append(pruning_utils.variable_assign(threshold, new_threshold))
            self._assign_ops.append(assign(mask, new_mask))

    def mask_update_op(self):
        """The op that updates all masks."""
        with ops.name_scope(self._spec.name):
            if not self._assign_ops:
                self._get_mask_assign_ops()
            stamp = state_ops.assign(
                self._last_update_step, self._global_step, name="last_mask_update_step_assign"
            )
            with ops.control_dependencies([stamp]), ops.control_dependencies(self._assign_ops):
                logging.info("Updating masks.")
                return control_flow_ops.no_op("mask_update")

    def conditional_mask_update_op(self):
        """The op that updates all masks in the steps of the settings."""
        spec, step = self._spec, self._global_step
        with ops.name_scope(spec.name):
            has_not_ended = math_ops.logical_or(
                math_ops.less_equal(step, spec.end_pruning_step), math_ops.less(spec.end_pruning_step, 0)
            )
            is_within = math_ops.logical_and(
                math_ops.greater_equal(step, spec.begin_pruning_step), has_not_ended
            )
            is_due = math_ops.less_equal(self._last_update_step + spec.pruning_frequency, step)
            is_update = math_ops.logical_and(is_within, is_due)
        return control_flow_ops.cond(is_update, self.mask_update_op, control_flow_ops.no_op)

    def add_pruning_summaries(self):
        """Summaries of the sparsities, the thresholds and the last update."""
        with ops.name_scope(self._spec.name + "_summaries"):
            summary.scalar("sparsity", self._sparsity)
            summary.scalar("last_mask_update_step", self._last_update_step)
            for mask, threshold in zip(get_masks(), get_thresholds()):
                summary.scalar(mask.op.name + "/sparsity", nn_impl.zero_fraction(mask))
                summary.scalar(threshold.op.name + "/threshold", threshold)

    def print_hparams(self):
        """Logs the settings."""
        logging.info(self._spec.to_json())
