"""The public name of a symbol: @tf_export("math.add_n", "add_n") above it.

The decorators do nothing when the program runs: tools/python_api.py reads them from the sources, and writes
the table by which `tf.math.add_n` finds its module. So names and arguments are literals.
"""


class api_export:
    """A decorator that leaves its function or class as it is.

    args: the public names, without "tf.". v1: the names in TensorFlow 1, in place of those of `args`.
    """

    def __init__(self, *args, v1=None, overrides=None, allow_multiple_exports=False, api_name="tensorflow"):
        pass

    def __call__(self, func):
        return func

    def export_constant(self, module_name, name):
        """Exports the constant `name` of the module `module_name`: tf_export("pi").export_constant(__name__,
        "pi").
        """


tf_export = api_export
estimator_export = api_export
keras_export = api_export


class SymbolAlreadyExposedError(Exception):
    """A symbol has two public names that contradict each other."""


class InvalidSymbolNameError(Exception):
    """A public name is not one that Python takes."""
