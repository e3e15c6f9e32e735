"""Which TensorFlow this is (tf.VERSION): the interface is that of 1.15.

`tf.__braid__` is Braid's own version.
"""

from braid import __version__ as _braid
from braid.tensorflow.python.util.tf_export import tf_export

__braid__ = _braid
tf_export("__braid__").export_constant(__name__, "__braid__")
VERSION = __version__ = "1.15.0"
tf_export(v1=["version.VERSION", "VERSION", "__version__"]).export_constant(__name__, "VERSION")
GIT_VERSION = __git_version__ = f"braid-{_braid}"
tf_export(v1=["version.GIT_VERSION", "GIT_VERSION", "__git_version__"]).export_constant(
    __name__, "GIT_VERSION"
)
COMPILER_VERSION = __compiler_version__ = "C17"
tf_export(v1=["version.COMPILER_VERSION", "COMPILER_VERSION", "__compiler_version__"]).export_constant(
    __name__, "COMPILER_VERSION"
)
CXX11_ABI_FLAG = __cxx11_abi_flag__ = 0
tf_export(v1=["sysconfig.CXX11_ABI_FLAG", "CXX11_ABI_FLAG", "__cxx11_abi_flag__"]).export_constant(
    __name__, "CXX11_ABI_FLAG"
)
MONOLITHIC_BUILD = __monolithic_build__ = 1
tf_export(v1=["sysconfig.MONOLITHIC_BUILD", "MONOLITHIC_BUILD", "__monolithic_build__"]).export_constant(
    __name__, "MONOLITHIC_BUILD"
)
# The versions of graphs that TensorFlow 1.15 writes and reads.
GRAPH_DEF_VERSION = 134
tf_export(v1=["version.GRAPH_DEF_VERSION", "GRAPH_DEF_VERSION"]).export_constant(
    __name__, "GRAPH_DEF_VERSION"
)
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
tf_export(v1=["version.GRAPH_DEF_VERSION_MIN_CONSUMER", "GRAPH_DEF_VERSION_MIN_CONSUMER"]).export_constant(
    __name__, "GRAPH_DEF_VERSION_MIN_CONSUMER"
)
GRAPH_DEF_VERSION_MIN_PRODUCER = 0
tf_export(v1=["version.GRAPH_DEF_VERSION_MIN_PRODUCER", "GRAPH_DEF_VERSION_MIN_PRODUCER"]).export_constant(
    __name__, "GRAPH_DEF_VERSION_MIN_PRODUCER"
)
