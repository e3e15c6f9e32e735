"""tf.test."""

from unittest import mock

from braid.tensorflow.python.framework.test_util import TensorFlowTestCase as TestCase
from braid.tensorflow.python.framework.test_util import (
    assert_equal_graph_def,
    create_local_cluster,
    gpu_device_name,
    is_gpu_available,
)
from braid.tensorflow.python.ops.gradient_checker import compute_gradient, compute_gradient_error
from braid.tensorflow.python.platform.benchmark import TensorFlowBenchmark as Benchmark
from braid.tensorflow.python.platform.benchmark import benchmark_config
from braid.tensorflow.python.platform.googletest import GetTempDir as get_temp_dir
from braid.tensorflow.python.platform.googletest import StubOutForTesting, main, test_src_dir_path
from braid.tensorflow.python.util.tf_export import tf_export

tf_export("test.mock").export_constant(__name__, "mock")
tf_export("test.get_temp_dir").export_constant(__name__, "get_temp_dir")


@tf_export("test.is_built_with_cuda")
def is_built_with_cuda():
    return False


@tf_export("test.is_built_with_rocm")
def is_built_with_rocm():
    return False


@tf_export("test.is_built_with_gpu_support")
def is_built_with_gpu_support():
    return False


@tf_export("test.is_built_with_xla")
def is_built_with_xla():
    return False
