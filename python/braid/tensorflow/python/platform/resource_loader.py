"""Files that lie beside the program (tf.resource_loader)."""

import os
import sys

from braid.tensorflow.python.util.tf_export import tf_export


def _directory_of_caller():
    """The directory of the module that calls the function which calls this one."""
    return os.path.dirname(os.path.abspath(sys._getframe(2).f_code.co_filename))


@tf_export(v1=["resource_loader.load_resource"])
def load_resource(path):
    """The bytes of a file, whose path is relative to the directory above TensorFlow's."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    with open(os.path.join(root, path), "rb") as f:
        return f.read()


@tf_export(v1=["resource_loader.get_data_files_path"])
def get_data_files_path():
    """The directory of the module that calls this."""
    return _directory_of_caller()


@tf_export(v1=["resource_loader.get_root_dir_with_all_resources"])
def get_root_dir_with_all_resources():
    """The directory of the module that calls this."""
    return _directory_of_caller()


@tf_export(v1=["resource_loader.get_path_to_datafile"])
def get_path_to_datafile(path):
    """The path of a file in the directory of the module that calls this."""
    return os.path.join(_directory_of_caller(), path)


@tf_export(v1=["resource_loader.readahead_file_path"])
def readahead_file_path(path, readahead="128M"):
    """The path as it is."""
    return path
