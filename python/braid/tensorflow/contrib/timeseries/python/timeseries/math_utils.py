"""The mathematics of models of time series: powers of matrices, covariances, tables of states, statistics."""

import collections
import math

import numpy as np

from braid.tensorflow.contrib import lookup
from braid.tensorflow.contrib.layers.python.layers import layers
from braid.tensorflow.contrib.timeseries.python.timeseries.feature_keys import TrainEvalFeatures
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import functional_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.util import nest

# ---- Densities ----


def normal_log_prob(loc, scale, x):
    """The logarithm of TensorFlow 1.15's density of Normal(loc, scale), which halves that of `scale`."""
    z = (x - loc) / scale
    return -0.5 * (math_ops.square(z) + np.log(2.0 * np.pi) + math_ops.log(scale))


def cauchy_log_prob(loc, scale, x):
    """The logarithm of the density of a Cauchy distribution."""
    z = (x - loc) / scale
    return -np.log(np.pi) - math_ops.log(scale) - math_ops.log1p(math_ops.square(z))


def mvn_tril_log_prob(loc, scale_tril, x):
    """The logarithm of a normal density whose covariance has the Cholesky factor `scale_tril`."""
    residual = (x - loc)[..., array_ops.newaxis]
    z = linalg_ops.matrix_triangular_solve(scale_tril, residual)[..., 0]
    log_diagonal = math_ops.log(array_ops.matrix_diag_part(scale_tril))
    log_determinant = 2.0 * math_ops.reduce_sum(log_diagonal, axis=-1)
    dimension = math_ops.cast(array_ops.shape(scale_tril)[-1], log_determinant.dtype)
    squares = math_ops.reduce_sum(math_ops.square(z), axis=-1)
    return -0.5 * (squares + dimension * np.log(2.0 * np.pi) + log_determinant)


def entropy_matched_cauchy_scale(covariance):
    """The scales of the Cauchy distributions that have the entropy of the normal ones of the diagonal."""
    return math_ops.sqrt(math.e / (8.0 * math.pi) * array_ops.matrix_diag_part(covariance))


def log_noninformative_covariance_prior(covariance):
    """The logarithm of Jeffreys' prior of a covariance matrix."""
    size = array_ops.shape(covariance)[0]
    covariance += array_ops.diag(1e-8 * array_ops.ones(shape=[size], dtype=covariance.dtype))
    power = -(math_ops.cast(array_ops.shape(covariance)[0] + 1, covariance.dtype) / 2.0)
    return power * math_ops.log(linalg_ops.matrix_determinant(covariance))


# ---- Matrices ----


def clip_covariance(covariance_matrix, maximum_variance_ratio, minimum_variance):
    """Matrices [..., n, n] whose variances are raised to the minimum, and to the largest over the ratio."""
    diagonal = array_ops.matrix_diag_part(covariance_matrix)
    largest = math_ops.reduce_max(diagonal, axis=-1, keepdims=True)
    raised = math_ops.maximum(diagonal, largest / maximum_variance_ratio)
    return array_ops.matrix_set_diag(covariance_matrix, math_ops.maximum(raised, minimum_variance))


def block_diagonal(matrices, dtype=dtypes.float32, name="block_diagonal"):
    """Matrices [..., n_i, m_i] along the diagonal of one, with zeros around them."""
    matrices = [ops.convert_to_tensor(matrix, dtype=dtype) for matrix in matrices]
    batch = tensor_shape.TensorShape(None)
    rows, columns = tensor_shape.Dimension(0), tensor_shape.Dimension(0)
    for matrix in matrices:
        shape = matrix.get_shape().with_rank_at_least(2)
        batch = batch.merge_with(shape[:-2])
        rows += shape[-2]
        columns += shape[-1]
    widths = [array_ops.shape(matrix)[-1] for matrix in matrices]
    total = math_ops.add_n(widths)
    blocks = []
    end = 0
    for matrix in matrices:
        before = end
        end += array_ops.shape(matrix)[-1]
        after = total - end
        others = array_ops.zeros([array_ops.rank(matrix) - 1, 2], dtype=dtypes.int32)
        blocks.append(array_ops.pad(matrix, array_ops.concat([others, [(before, after)]], axis=0)))
    blocked = array_ops.concat(blocks, -2, name=name)
    blocked.set_shape(batch.concatenate((rows, columns)))
    return blocked


def power_sums_tensor(array_size, power_matrix, multiplier):
    """The sums of A^i B (A^i)^T over i < n, for each n from 0 to array_size: [array_size + 1, k, k]."""
    array_size = math_ops.cast(array_size, dtypes.int32)
    power_matrix = ops.convert_to_tensor(power_matrix)
    identity = linalg_ops.eye(array_ops.shape(power_matrix)[0], dtype=power_matrix.dtype)
    identity.set_shape(power_matrix.get_shape())
    powers = functional_ops.scan(
        lambda power, _: math_ops.matmul(power, power_matrix),
        math_ops.range(array_size - 1),
        initializer=identity,
    )
    first = array_ops.expand_dims(multiplier, 0)
    others = math_ops.matmul(batch_times_matrix(powers, multiplier), powers, adjoint_b=True)
    sums = math_ops.cumsum(array_ops.concat([first, others], 0))
    return array_ops.concat([array_ops.expand_dims(array_ops.zeros_like(multiplier), 0), sums], 0)


def matrix_to_powers(matrix, powers):
    """A matrix to several powers: [n, k, k]."""
    tiled = array_ops.tile(array_ops.expand_dims(matrix, 0), [array_ops.size(powers), 1, 1])
    return batch_matrix_pow(tiled, powers)


def batch_matrix_pow(matrices, powers):
    """Matrices [n, k, k] to integer powers [n], by repeated squaring.

    A power p of M is P M'^r of an accumulator P and a square M', where r, what is left of p, is halved in
    each iteration; an element with r of 1 or less waits for the others.
    """

    def squares_remain(_, remaining, __):
        return math_ops.reduce_any(math_ops.greater(remaining, array_ops.ones_like(remaining)))

    def square(matrix, remaining, product):
        odd = remaining % 2
        is_even = math_ops.equal(odd, array_ops.zeros(array_ops.shape(remaining), dtype=dtypes.int32))
        new_product = array_ops.where(is_even, product, math_ops.matmul(product, matrix))
        squared = math_ops.matmul(matrix, matrix)
        changes = math_ops.greater(remaining, 1)
        halved = (remaining - remaining % 2) // 2
        product = array_ops.where(changes, new_product, product)
        matrix = array_ops.where(changes, squared, matrix)
        return matrix, array_ops.where(changes, halved, remaining), product

    matrices = ops.convert_to_tensor(matrices)
    powers = math_ops.cast(powers, dtype=dtypes.int32)
    ones = array_ops.ones([array_ops.shape(matrices)[1]], dtype=matrices.dtype)
    identity = array_ops.expand_dims(array_ops.diag(ones), 0)
    identities = array_ops.tile(identity, [array_ops.shape(matrices)[0], 1, 1])
    matrix, remaining, product = control_flow_ops.while_loop(
        squares_remain, square, [matrices, powers, identities]
    )
    is_zero = math_ops.equal(remaining, array_ops.zeros_like(remaining, dtype=dtypes.int32))
    return array_ops.where(is_zero, identities, math_ops.matmul(matrix, product))


def batch_times_matrix(batch, matrix, adj_x=False, adj_y=False):
    """The products of matrices [n, k, m] with one [m, p], each transposed before if asked for: [n, k, p]."""
    batch = ops.convert_to_tensor(batch)
    matrix = ops.convert_to_tensor(matrix)
    assert batch.get_shape().ndims == 3
    assert matrix.get_shape().ndims == 2
    if adj_x:
        batch = array_ops.transpose(batch, [0, 2, 1])
    shape = array_ops.shape(batch)

    def size(tensor, axis, dynamic):
        known = tensor.get_shape().as_list()[axis]
        return dynamic(axis) if known is None else known

    count = size(batch, 0, lambda axis: shape[axis])
    rows = size(batch, 1, lambda axis: shape[axis])
    flat = array_ops.reshape(batch, [-1, shape[2]])
    columns = size(matrix, 0 if adj_y else 1, lambda axis: array_ops.shape(matrix)[axis])
    return array_ops.reshape(math_ops.matmul(flat, matrix, adjoint_b=adj_y), [count, rows, columns])


def matrix_times_batch(matrix, batch, adj_x=False, adj_y=False):
    """The products of one matrix with several."""
    transposed = batch_times_matrix(batch=batch, matrix=matrix, adj_x=not adj_y, adj_y=not adj_x)
    return array_ops.transpose(transposed, [0, 2, 1])


def make_toeplitz_matrix(inputs, name=None):
    """The matrix [n k, n k] whose block (i, j) is inputs[|i - j|], of inputs [n, k, k]."""
    num_blocks = array_ops.shape(inputs)[0]
    block_size = array_ops.shape(inputs)[1]
    output_size = block_size * num_blocks
    lags = array_ops.reshape(math_ops.range(num_blocks), shape=[1, -1])
    distances = math_ops.abs(lags - array_ops.transpose(lags))
    blocks = array_ops.transpose(array_ops.gather(inputs, distances), [0, 2, 1, 3])
    return array_ops.identity(array_ops.reshape(blocks, [output_size, output_size]), name=name)


# ---- Covariances of free parameters ----


def sign_magnitude_positive_definite(raw, off_diagonal_scale=0.0, overall_scale=0.0):
    """Positive definite matrices of any matrices raw [..., n, n]: C^T C of an upper triangle C.

    C[i, i] is exp((raw[i, i] + overall_scale) / 2). Above the diagonal, raw's upper triangle has the
    logarithm of the magnitude, its lower one the sign: C[i, j] is softsign(raw[j, i]) times
    exp((raw[i, j] + off_diagonal_scale + overall_scale) / 2). The scales are scalars or of shape [...].
    """
    raw = ops.convert_to_tensor(raw)
    diagonal = array_ops.matrix_diag_part(raw)

    def to_rank(scale, rank):
        scale = ops.convert_to_tensor(scale, dtype=raw.dtype.base_dtype)
        shape = array_ops.shape(scale)
        ones = array_ops.ones([rank - array_ops.rank(scale)], dtype=rank.dtype)
        return array_ops.reshape(scale, array_ops.concat([shape, ones], axis=0))

    exponent = (
        raw + to_rank(off_diagonal_scale, array_ops.rank(raw)) + to_rank(overall_scale, array_ops.rank(raw))
    )
    signed = math_ops.exp(exponent / 2.0) * nn.softsign(array_ops.matrix_transpose(raw))
    signed.set_shape(raw.get_shape())
    factor = array_ops.matrix_set_diag(
        array_ops.matrix_band_part(signed, 0, -1),
        math_ops.exp((diagonal + to_rank(overall_scale, array_ops.rank(diagonal))) / 2.0),
    )
    return math_ops.matmul(factor, factor, transpose_a=True)


def transform_to_covariance_matrices(input_vectors, matrix_size):
    """Covariances [..., n, n] of vectors [..., k], by a linear layer that learns their parameters."""
    parameters = layers.fully_connected(input_vectors, matrix_size**2 + 2, activation_fn=None)
    shape = array_ops.concat([array_ops.shape(parameters)[:-1], [matrix_size, matrix_size]], 0)
    return sign_magnitude_positive_definite(
        raw=array_ops.reshape(parameters[..., :-2], shape),
        off_diagonal_scale=parameters[..., -2],
        overall_scale=parameters[..., -1],
    )


def variable_covariance_matrix(
    size, name, dtype, initial_diagonal_values=None, initial_overall_scale_log=0.0
):
    """A covariance matrix [size, size] that is learned: variables NAME_pre_transform and NAME_..._scale."""
    raw = variable_scope.get_variable(
        name + "_pre_transform", dtype=dtype, shape=[size, size], initializer=init_ops.zeros_initializer()
    )
    if initial_diagonal_values is not None:
        raw += array_ops.matrix_diag(math_ops.log(initial_diagonal_values))
    off_diagonal = variable_scope.get_variable(
        name + "_off_diagonal_scale", dtype=dtype, initializer=constant_op.constant(-5.0, dtype=dtype)
    )
    overall = ops.convert_to_tensor(initial_overall_scale_log, dtype=dtype) + variable_scope.get_variable(
        name + "_overall_scale", dtype=dtype, shape=[], initializer=init_ops.zeros_initializer()
    )
    return array_ops.identity(sign_magnitude_positive_definite(raw, off_diagonal, overall), name=name)


# ---- Windows and states ----


def batch_start_time(times):
    """The first time of each window."""
    return times[:, 0]


def batch_end_time(times):
    """The last time of each window."""
    return times[:, -1]


def replicate_state(start_state, batch_size):
    """A state for each element of a batch."""

    def replicated(state):
        batch_of_one = array_ops.expand_dims(state, 0)
        ones = array_ops.ones([array_ops.rank(state)], dtype=dtypes.int32)
        return array_ops.tile(batch_of_one, array_ops.concat([[batch_size], ones], 0))

    return nest.pack_sequence_as(start_state, [replicated(s) for s in nest.flatten(start_state)])


class TensorValuedMutableDenseHashTable(lookup.MutableDenseHashTable):
    """A table of tensors of any one shape, for keys of any shape: its ops take vectors of both."""

    def __init__(self, key_dtype, value_dtype, default_value, *args, **kwargs):
        self._non_vector_value_shape = array_ops.shape(default_value)
        super().__init__(
            *args,
            key_dtype=key_dtype,
            value_dtype=value_dtype,
            default_value=array_ops.reshape(default_value, [-1]),
            **kwargs,
        )

    def insert(self, keys, values, name=None):
        flat = array_ops.reshape(ops.convert_to_tensor(keys, dtype=self._key_dtype), [-1])
        rows = array_ops.reshape(values, [array_ops.shape(flat)[0], -1])
        return super().insert(keys=flat, values=rows, name=name)

    def lookup(self, keys, name=None):
        flat = array_ops.reshape(ops.convert_to_tensor(keys, dtype=self._key_dtype), [-1])
        found = super().lookup(keys=flat, name=name)
        shape = array_ops.concat([array_ops.shape(keys), self._non_vector_value_shape], 0)
        return array_ops.reshape(found, shape)


class TupleOfTensorsLookup(lookup.LookupInterface):
    """A table of nested tuples of tensors: one table NAME_i for each tensor of the default."""

    def __init__(self, key_dtype, default_values, empty_key, deleted_key, name, checkpoint=True):
        tables = []
        for number, default in enumerate(nest.flatten(default_values)):
            tables.append(
                TensorValuedMutableDenseHashTable(
                    key_dtype=key_dtype,
                    value_dtype=default.dtype.base_dtype,
                    default_value=default,
                    empty_key=empty_key,
                    deleted_key=deleted_key,
                    name=f"{name}_{number}",
                    checkpoint=checkpoint,
                )
            )
        self._hash_tables = nest.pack_sequence_as(default_values, tables)
        self._name = name

    def lookup(self, keys):
        found = [table.lookup(keys) for table in nest.flatten(self._hash_tables)]
        return nest.pack_sequence_as(self._hash_tables, found)

    def insert(self, keys, values):
        nest.assert_same_structure(self._hash_tables, values)
        # All values are there before a table changes, because they may be computed of what is in the tables.
        values = [array_ops.identity(value) for value in nest.flatten(values)]
        with ops.control_dependencies(values):
            inserts = [t.insert(keys, v) for t, v in zip(nest.flatten(self._hash_tables), values)]
        return control_flow_ops.group(*inserts)

    def check_table_dtypes(self, key_dtype, value_dtype):
        pass  # each table has dtypes of its own


# ---- Statistics of the series ----

Moments = collections.namedtuple("Moments", ["mean", "variance"])

InputStatistics = collections.namedtuple(
    "InputStatistics",
    [
        "series_start_moments",  # of each feature, near the start of the series
        "overall_feature_moments",  # of each feature
        "start_time",  # the first time that was seen
        "total_observation_count",  # an estimate of how many observations the series has
    ],
)

_Sums = collections.namedtuple(
    "_Sums",
    [
        "max_time_seen",
        "chunk_count",
        "inter_observation_duration_sum",
        "example_count",
        "overall_feature_sum",
        "overall_feature_sum_of_squares",
    ],
)


def _statistic(name, shape, dtype, initializer):
    return variable_scope.get_variable(
        name=name, shape=shape, dtype=dtype, initializer=initializer, trainable=False
    )


class InputStatisticsFromMiniBatch:
    """Statistics of a series, estimated of the batches of training."""

    def __init__(self, num_features, dtype, starting_variance_window_size=16):
        """The start of the series is the first `starting_variance_window_size` observations."""
        self._starting_variance_window_size = starting_variance_window_size
        self._num_features = num_features
        self._dtype = dtype

    def initialize_graph(self, features, update_statistics=True):
        """InputStatistics: variables, or their values after an update with the batch `features`."""
        times = features.get(TrainEvalFeatures.TIMES)
        values = features.get(TrainEvalFeatures.VALUES)
        with variable_scope.variable_scope("input_statistics", use_resource=True):
            statistics = self._create_variable_statistics_object()
        with variable_scope.variable_scope("input_statistics_auxiliary", use_resource=True):
            sums = self._create_sums()
        if not update_statistics or times is None or values is None:
            return statistics
        update = self._update_statistics_from_mini_batch(statistics, sums, times, values)
        with ops.control_dependencies([update]):
            read = [array_ops.identity(variable) for variable in nest.flatten(statistics)]
            current = nest.pack_sequence_as(statistics, read)
            # Another worker may have put a later time into the variable meanwhile: a batch's times are
            # never before the start.
            first = math_ops.minimum(current.start_time, math_ops.reduce_min(times))
            return current._replace(start_time=first)

    def _create_sums(self):
        zeros, features = init_ops.zeros_initializer(), [self._num_features]
        return _Sums(
            max_time_seen=_statistic("max_time_seen", None, dtypes.int64, dtypes.int64.min),
            chunk_count=_statistic("chunk_count", [], dtypes.int64, zeros),
            inter_observation_duration_sum=_statistic(
                "inter_observation_duration_sum", [], self._dtype, zeros
            ),
            example_count=_statistic("example_count", [], dtypes.int64, None),
            overall_feature_sum=_statistic("overall_feature_sum", features, self._dtype, zeros),
            overall_feature_sum_of_squares=_statistic(
                "overall_feature_sum_of_squares", features, self._dtype, zeros
            ),
        )

    def _create_variable_statistics_object(self):
        zeros, ones = init_ops.zeros_initializer(), init_ops.ones_initializer()
        features = [self._num_features]
        return InputStatistics(
            series_start_moments=Moments(
                mean=_statistic("series_start_mean", features, self._dtype, zeros),
                variance=_statistic("series_start_variance", features, self._dtype, ones),
            ),
            overall_feature_moments=Moments(
                mean=_statistic("overall_feature_mean", features, self._dtype, zeros),
                variance=_statistic("overall_feature_var", features, self._dtype, ones),
            ),
            start_time=_statistic("start_time", None, dtypes.int64, dtypes.int64.max),
            total_observation_count=_statistic("total_observation_count", [], dtypes.int64, ones),
        )

    def _update_sums(self, sums, times, values):
        """Adds a batch to the sums; returns the new last time, and the operation of all updates."""
        durations = math_ops.cast(
            math_ops.reduce_max(times, axis=1) - math_ops.reduce_min(times, axis=1), self._dtype
        ) / math_ops.cast(array_ops.shape(times)[1] - 1, self._dtype)
        with ops.device(sums.max_time_seen.device):
            last = math_ops.maximum(sums.max_time_seen, math_ops.reduce_max(times))
            updates = [state_ops.assign(sums.max_time_seen, last)]
        additions = (
            (sums.chunk_count, lambda: array_ops.shape(times, out_type=dtypes.int64)[0]),
            (sums.inter_observation_duration_sum, lambda: math_ops.reduce_sum(durations)),
            (sums.example_count, lambda: array_ops.size(times, out_type=dtypes.int64)),
            (sums.overall_feature_sum, lambda: math_ops.reduce_sum(values, axis=[0, 1])),
            (sums.overall_feature_sum_of_squares, lambda: math_ops.reduce_sum(values**2, axis=[0, 1])),
        )
        for variable, addition in additions:
            with ops.device(variable.device):
                updates.append(state_ops.assign_add(variable, addition()))
        return updates[0], control_flow_ops.group(*updates)

    def _update_start(self, statistics, times, values):
        """Updates the start of the series where the batch has an earlier one."""
        first = math_ops.cast(math_ops.argmin(times[:, 0]), dtypes.int32)

        def moments_of_batch():
            start = values[first, : self._starting_variance_window_size]
            mean, variance = nn.moments(start, axes=[0])
            return control_flow_ops.group(
                state_ops.assign(statistics.series_start_moments.mean, mean),
                state_ops.assign(statistics.series_start_moments.variance, variance),
            )

        with ops.device(statistics.start_time.device):
            update = control_flow_ops.cond(
                math_ops.less_equal(times[first, 0], statistics.start_time),
                moments_of_batch,
                control_flow_ops.no_op,
            )
            with ops.control_dependencies([update]):
                # The first window that was seen may not be the first of the series; that of a batch has
                # moments that count as the start's until an earlier one comes.
                earliest = math_ops.minimum(statistics.start_time, math_ops.reduce_min(times))
                return update, state_ops.assign(statistics.start_time, earliest)

    def _update_statistics_from_mini_batch(self, statistics, sums, times, values):
        values = math_ops.cast(values, self._dtype)
        last_time, sums_update = self._update_sums(sums, times, values)
        with ops.control_dependencies([sums_update]):
            count = math_ops.cast(sums.example_count, self._dtype)
            mean = sums.overall_feature_sum / count
            mean_update = state_ops.assign(statistics.overall_feature_moments.mean, mean)
            variance = count / (count - 1.0) * (sums.overall_feature_sum_of_squares / count - mean**2)
            variance_update = state_ops.assign(statistics.overall_feature_moments.variance, variance)
            start_update, start_time = self._update_start(statistics, times, values)
            interval = sums.inter_observation_duration_sum / math_ops.cast(sums.chunk_count, self._dtype)
            # As many observations as there would be in the whole range at the density of the chunks.
            whole_range = math_ops.cast(last_time - start_time + 1, self._dtype)
            total = math_ops.cast(math_ops.round(whole_range / interval), dtypes.int64)
            total_update = state_ops.assign(statistics.total_observation_count, total)
            return control_flow_ops.group(
                mean_update, variance_update, start_update, start_time, total_update
            )
