"""TensorFlow's modules that programs import from inside.

The package also has, as TensorFlow's, modules of its folders (tensorflow.python.math_ops), and the functions
and classes of the operations. They are found when they are asked for.
"""

import importlib
import importlib.util

_FOLDERS = {
    "compat": "v2_compat",
    "eager": "context wrap_function",
    "framework": (
        "common_shapes config constant_op dtypes errors errors_impl graph_util ops random_seed sparse_tensor"
        " tensor_shape tensor_spec tensor_util type_spec"
    ),
    "lib.io": "file_io python_io",
    "ops": (
        "array_grad array_ops check_ops clip_ops control_flow_ops control_flow_util cudnn_rnn_grad"
        " data_flow_grad gen_array_ops gen_batch_ops gen_control_flow_ops gen_data_flow_ops"
        " gen_functional_ops gen_io_ops gen_linalg_ops gen_math_ops gen_nn_ops gen_parsing_ops gen_random_ops"
        " gen_sparse_ops gen_state_ops gen_stateless_random_ops gen_string_ops gradient_checker_v2"
        " linalg_ops_impl list_ops manip_grad map_fn math_grad math_ops metrics nn nn_ops ragged random_grad"
        " random_ops resource_variable_ops rnn rnn_cell rnn_grad sets sparse_grad sparse_ops state_grad"
        " state_ops stateful_random_ops tensor_array_ops"
    ),
    "platform": "app flags gfile resource_loader sysconfig test tf_logging",
    "util": "deprecation dispatch function_utils nest object_identity tf_inspect tf_should_use",
}
_MODULES = {name: f"{folder}.{name}" for folder, names in _FOLDERS.items() for name in names.split()}
_MODULES.update(
    bitwise="ops.bitwise_ops",
    distributions="ops.distributions.distributions",
    framework_ops="framework.ops",
    fwd_compat="compat.compat",
    image="ops.image_ops",
    linalg="ops.linalg.linalg",
    logging="platform.tf_logging",
    losses="ops.losses.losses",
    manip="ops.manip_ops",
    pydev="framework.device",
    signal="ops.signal.signal",
    trackable="training.tracking.base",
    train="training.training",
    util_compat="util.compat",
    vs="ops.variable_scope",
)


def __getattr__(name):
    if name in _MODULES:
        try:
            return importlib.import_module(f"{__name__}.{_MODULES[name]}")
        except ModuleNotFoundError:
            pass
    elif not name.startswith("_") and importlib.util.find_spec(f"{__name__}.{name}") is None:
        for module in ("braid.tensorflow.python.ops.standard_ops", "braid.tensorflow"):
            try:
                return getattr(importlib.import_module(module), name)
            except AttributeError:
                continue
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
