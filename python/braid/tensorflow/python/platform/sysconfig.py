"""How ops of a program's own are compiled (tf.sysconfig): Braid loads none from Python."""

from braid.tensorflow.python.util.tf_export import tf_export


def _refuse(name):
    raise NotImplementedError(
        f"tf.sysconfig.{name}: Braid does not load libraries with ops; tf.py_func calls a function in Python"
    )


@tf_export("sysconfig.get_include")
def get_include():
    _refuse("get_include")


@tf_export("sysconfig.get_lib")
def get_lib():
    _refuse("get_lib")


@tf_export("sysconfig.get_compile_flags")
def get_compile_flags():
    _refuse("get_compile_flags")


@tf_export("sysconfig.get_link_flags")
def get_link_flags():
    _refuse("get_link_flags")
