"""Names of tf.compat.v2 that are neither tf's nor a function of tf with other arguments."""

from braid.tensorflow.compat.v2 import summaries
from braid.tensorflow.python.framework import constant_op, ops, random_seed
from braid.tensorflow.python.keras.utils import losses_utils
from braid.tensorflow.python.ops import (
    array_ops,
    control_flow_ops,
    ctc_ops,
    gradient_checker_v2,
    image_ops_impl,
    init_ops_v2,
    nn_ops,
    sparse_ops,
    string_ops,
    variables,
)
from braid.tensorflow.python.ops.ragged import ragged_string_ops
from braid.tensorflow.python.saved_model import load as saved_model_load


def _while_loop(
    cond,
    body,
    loop_vars,
    shape_invariants=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    maximum_iterations=None,
    name=None,
):
    """tf.while_loop whose result has the structure of `loop_vars`: a list of one value stays a list."""
    return control_flow_ops.while_loop(
        cond,
        body,
        loop_vars,
        shape_invariants=shape_invariants,
        parallel_iterations=parallel_iterations,
        back_prop=back_prop,
        swap_memory=swap_memory,
        maximum_iterations=maximum_iterations,
        name=name,
        return_same_structure=True,
    )


def _reduce_sparse(dense, sparse):
    """The reduction of a sparse tensor to a dense one, or to a sparse one by the other function."""

    def reduce(sp_input, axis=None, keepdims=None, output_is_sparse=False, name=None):
        reduction = sparse if output_is_sparse else dense
        with ops.name_scope(name, "sparse_reduce", [sp_input.values]):
            return reduction(sp_input, axis, keepdims)

    return reduce


def _to_hash_bucket(input, num_buckets, name=None):  # noqa: A002
    return string_ops.string_to_hash_bucket(input, num_buckets, name)


NAMES = {
    "Variable": variables.Variable,
    "cond": control_flow_ops.cond_for_tf_v2,
    "constant": constant_op.constant,
    "constant_initializer": init_ops_v2.Constant,
    "device": ops.device_v2,
    "image.resize": image_ops_impl.resize_images_v2,
    "keras.losses.Reduction": losses_utils.ReductionV2,
    "name_scope": ops.name_scope_v2,
    "nn.avg_pool": nn_ops.avg_pool_v2,
    "nn.ctc_beam_search_decoder": ctc_ops.ctc_beam_search_decoder_v2,
    "nn.ctc_loss": ctc_ops.ctc_loss_v2,
    "nn.max_pool": nn_ops.max_pool_v2,
    "ones_initializer": init_ops_v2.Ones,
    "random.set_seed": random_seed.set_random_seed,
    "random_normal_initializer": init_ops_v2.RandomNormal,
    "random_uniform_initializer": init_ops_v2.RandomUniform,
    "saved_model.load": saved_model_load.load,
    "sparse.reduce_max": _reduce_sparse(sparse_ops.sparse_reduce_max, sparse_ops.sparse_reduce_max_sparse),
    "sparse.reduce_sum": _reduce_sparse(sparse_ops.sparse_reduce_sum, sparse_ops.sparse_reduce_sum_sparse),
    "strings.split": ragged_string_ops.string_split_v2,
    "strings.to_hash_bucket": _to_hash_bucket,
    "test.compute_gradient": gradient_checker_v2.compute_gradient,
    "where": array_ops.where_v2,
    "while_loop": _while_loop,
    "zeros_initializer": init_ops_v2.Zeros,
}
NAMES.update({f"summary.{name}": value for name, value in summaries.NAMES.items()})
for _name in (
    "Constant GlorotNormal GlorotUniform Identity Initializer Ones Orthogonal RandomNormal RandomUniform "
    "TruncatedNormal VarianceScaling Zeros he_normal he_uniform lecun_normal lecun_uniform"
).split():
    NAMES["keras.initializers." + _name] = getattr(init_ops_v2, _name)
for _name, _class in {
    "constant": "Constant",
    "glorot_normal": "GlorotNormal",
    "glorot_uniform": "GlorotUniform",
    "identity": "Identity",
    "ones": "Ones",
    "orthogonal": "Orthogonal",
    "zeros": "Zeros",
}.items():
    NAMES["keras.initializers." + _name] = getattr(init_ops_v2, _class)

# Below keras and estimator: what TensorFlow 2 has by another class than 1.15's tf, or 1.15's tf alone has.
MISSING = frozenset(
    "keras.callbacks.TensorBoard keras.layers.BatchNormalization keras.layers.DenseFeatures keras.layers.GRU "
    "keras.layers.GRUCell keras.layers.LSTM keras.layers.LSTMCell estimator.BaselineClassifier "
    "estimator.BaselineEstimator estimator.BaselineRegressor estimator.DNNClassifier estimator.DNNEstimator "
    "estimator.DNNLinearCombinedClassifier estimator.DNNLinearCombinedEstimator "
    "estimator.DNNLinearCombinedRegressor estimator.DNNRegressor estimator.LinearClassifier "
    "estimator.LinearEstimator estimator.LinearRegressor".split()
)
