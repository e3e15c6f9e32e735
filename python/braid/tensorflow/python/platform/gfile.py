"""tf.gfile: files and directories."""

from braid.tensorflow.python.lib.io.file_io import FileIO as _FileIO
from braid.tensorflow.python.lib.io.file_io import copy as Copy  # noqa: F401
from braid.tensorflow.python.lib.io.file_io import create_dir as MkDir  # noqa: F401
from braid.tensorflow.python.lib.io.file_io import delete_file as Remove  # noqa: F401
from braid.tensorflow.python.lib.io.file_io import delete_recursively as DeleteRecursively  # noqa: F401
from braid.tensorflow.python.lib.io.file_io import file_exists as Exists  # noqa: F401
from braid.tensorflow.python.lib.io.file_io import get_matching_files as Glob  # noqa: F401
from braid.tensorflow.python.lib.io.file_io import is_directory as IsDirectory  # noqa: F401
from braid.tensorflow.python.lib.io.file_io import list_directory as ListDirectory  # noqa: F401
from braid.tensorflow.python.lib.io.file_io import recursive_create_dir as MakeDirs  # noqa: F401
from braid.tensorflow.python.lib.io.file_io import rename as Rename  # noqa: F401
from braid.tensorflow.python.lib.io.file_io import stat as Stat  # noqa: F401
from braid.tensorflow.python.lib.io.file_io import walk as Walk  # noqa: F401
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("io.gfile.GFile", v1=["gfile.GFile", "gfile.Open", "io.gfile.GFile"])
class GFile(_FileIO):
    """A file that is opened when it is first read or written. See file_io.FileIO."""

    def __init__(self, name, mode="r"):
        super().__init__(name=name, mode=mode)


@tf_export(v1=["gfile.FastGFile"])
class FastGFile(GFile):
    """As GFile."""


Open = GFile
