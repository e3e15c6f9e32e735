"""What Braid has of TensorFlow 1.15's public names, and what a program reads when it uses another."""

import difflib
import functools
import pathlib
import types

from braid.tensorflow._api import NAMES

_EAGER = "Braid runs graphs: build one and run it in a tf.Session"
_REMOTE = 'tf.Session("grpc://host:port") runs a graph on the tasks of a cluster'
_TPU = "Braid has no TPUs"
_FILES = "files are those of the file system: mount the bucket, or copy its files"
_SERVICE = "tf.data.Dataset.from_generator takes what a Python client of the service reads"
_LITE = "Braid trains; it does not convert models for TensorFlow Lite"
_TREES = "tf.contrib.boosted_trees.estimator_batch.estimator has the estimators of trees"
# Names that Braid leaves out, with all below them, and what to do instead. Modules that programs import
# (IMPORTED below, and those for TPUs) are there; what they have says so when it is called.
REFUSED = {
    "function": _EAGER,
    "wrap_function": _EAGER,
    "enable_eager_execution": _EAGER,
    "contrib.eager": _EAGER,
    "config.experimental_run_functions_eagerly": _EAGER,
    "config.experimental.get_device_policy": _EAGER,
    "config.experimental.set_device_policy": _EAGER,
    "config.experimental.get_synchronous_execution": _EAGER,
    "config.experimental.set_synchronous_execution": _EAGER,
    "config.experimental_connect_to_cluster": _REMOTE,
    "config.experimental_connect_to_host": _REMOTE,
    "experimental": "Braid has no eager execution, and tf.cond and tf.while_loop make Switch and Merge",
    "errors.raise_exception_on_not_ok_status": "errors of a step are raised as tf.errors.OpError",
    "train.do_quantize_training_on_graphdef": "tf.quantization.fake_quant_with_min_max_vars makes the nodes one by one",
    "user_ops": "tf.py_func calls a function in Python",
    "enable_v2_behavior": "Braid has the behaviour of TensorFlow 1",
    "enable_v2_tensorshape": "Braid has the behaviour of TensorFlow 1",
    "enable_tensor_equality": "tensors compare by identity: use tf.equal",
    "enable_control_flow_v2": "tf.cond and tf.while_loop make Switch and Merge",
    "load_op_library": "an op for Braid is a C file; tf.py_func calls a function in Python",
    "load_library": "an op for Braid is a C file; tf.py_func calls a function in Python",
    "load_file_system_library": "files are those of the file system",
    "contrib.tpu": _TPU,
    "contrib.distribute.TPUStrategy": _TPU,
    "contrib.distribute.initialize_tpu_system": _TPU,
    "contrib.cloud": f"Braid reads neither gs:// nor BigQuery. {_FILES[0].upper()}{_FILES[1:]}; {_SERVICE}",
    "contrib.bigtable": _SERVICE,
    "contrib.hadoop": _SERVICE,
    "contrib.ignite": _SERVICE,
    "contrib.kafka": _SERVICE,
    "contrib.kinesis": _SERVICE,
    "contrib.ffmpeg": "tf.audio.decode_wav reads WAV files, into which ffmpeg converts others",
    "contrib.rpc": "tf.py_func calls a function in Python, which may call a service",
    "contrib.boosted_trees.estimator_batch.custom_export_strategy": "export_savedmodel writes a model of trees",
    "contrib.boosted_trees.estimator_batch.distillation_loss": _TREES,
    "contrib.boosted_trees.estimator_batch.dnn_tree_combined_estimator": _TREES,
    "contrib.tensor_forest.hybrid": "tf.contrib.tensor_forest trains forests without layers",
    "contrib.fused_conv": "convolutions with bias and activation are fused by themselves",
    "contrib.tensorrt": "Braid runs models itself: tf.saved_model.load(session, tags, directory)",
    "tpu": _TPU,
    "distribute.experimental.TPUStrategy": _TPU,
    "estimator.tpu": _TPU,
    "distribute.cluster_resolver.TPUClusterResolver": _TPU,
    "lite": _LITE,
    "contrib.lite": _LITE,
}


@functools.lru_cache(maxsize=None)
def names_of_1_15():
    """All public names, without "tf."."""
    names = set()
    for line in pathlib.Path(__file__).with_name("api_1_15.txt").read_text().splitlines():
        if line.startswith("tf"):
            module, _, words = line.partition(": ")
            names.update(f"{module}.{word}"[3:] for word in words.split())
    return names


def refusal(full):
    """What to do in place of a name that Braid leaves out; None: it does not leave it out."""
    for name, way in REFUSED.items():
        if full == name or full.startswith(name + "."):
            return way
    return None


def message(full):
    """The text of the error for a name that Braid does not have, without "tf."."""
    way = refusal(full)
    if way is not None:
        return f"tf.{full} is not in Braid. {way}."
    near = difflib.get_close_matches(full, NAMES, 3)
    hint = f" Similar names: {', '.join('tf.' + n for n in near)}." if near else ""
    if full in names_of_1_15() or full.startswith("contrib."):
        return f"tf.{full} is not in Braid; docs/python-api.md says what is.{hint}"
    return f"module 'tensorflow' has no attribute {full!r}.{hint}"


# Packages that programs import at their head and use, if at all, when they have trained.
_BATCH = "contrib.boosted_trees.estimator_batch."
IMPORTED = (
    "lite",
    _BATCH + "custom_export_strategy",
    _BATCH + "distillation_loss",
    _BATCH + "dnn_tree_combined_estimator",
)


def is_imported(full):
    return any(full == name or full.startswith(name + ".") for name in IMPORTED)


def refused(full, text):
    """What stands for the function or class of that full name. NotImplementedError: it is called."""

    def refuse(*args, **kwargs):
        raise NotImplementedError(f"{full}: {text}")

    module, _, name = full.rpartition(".")
    if not name.lstrip("_")[:1].isupper():
        return refuse
    return type(name, (), {"__init__": refuse, "__module__": module})


class RefusingModule(types.ModuleType):
    """A module without content. Modules, functions and classes of any name are found in it, and refuse to be
    called; constants are not found.
    """

    def text(self):
        return message(self.__name__.partition(".")[2])

    def __getattr__(self, name):
        full = f"{self.__name__.replace('braid.', '', 1)}.{name}"
        if name.startswith("__") or name.isupper():
            raise AttributeError(f"{full}: {self.text()}")
        is_class = name.lstrip("_")[:1].isupper()
        value = refused(full, self.text()) if is_class else type(self)(full)
        setattr(self, name, value)
        return value

    def __call__(self, *args, **kwargs):
        raise NotImplementedError(f"{self.__name__}: {self.text()}")
