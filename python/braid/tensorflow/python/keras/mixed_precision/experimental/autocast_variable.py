"""AutoCastVariable: a variable that is cast where a layer reads it."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import resource_variable_ops
from braid.tensorflow.python.training.tracking import base as trackable


class AutoCastVariable(trackable.Trackable):
    """A floating-point variable. In base_layer_utils.autocast_context_manager(dtype) it reads as `dtype`."""

    def __init__(self, variable):
        if not resource_variable_ops.is_resource_variable(variable) and not hasattr(variable, "_values"):
            raise ValueError(f"variable must be of type tf.ResourceVariable, but got: {variable}")
        if not variable.dtype.is_floating:
            raise ValueError(
                f"variable must be a floating point variable but has type: {variable.dtype.name}"
            )
        self._variable = variable

    def _read_dtype(self):
        return getattr(ops.get_default_graph(), "_auto_cast_variable_read_dtype", None)

    def _should_cast(self):
        dtype = self._read_dtype()
        return dtype is not None and dtype != self._variable.dtype.base_dtype

    @property
    def dtype(self):
        """The type in which it is read here."""
        return self._read_dtype() if self._should_cast() else self._variable.dtype

    @property
    def true_dtype(self):
        """The type in which it is kept."""
        return self._variable.dtype

    def _cast(self, value):
        return math_ops.cast(value, self.dtype) if self._should_cast() else value

    def value(self):
        return self._cast(self._variable.value())

    def read_value(self):
        return self._cast(self._variable.read_value())

    def sparse_read(self, indices, name=None):
        return self._cast(self._variable.sparse_read(indices, name=name))

    def _dense_var_to_tensor(self, dtype=None, name=None, as_ref=False):
        if not self._should_cast():
            return ops.convert_to_tensor(self._variable, dtype, name)
        if dtype is not None and not dtype.is_compatible_with(self.dtype):
            raise ValueError(
                f"Incompatible type conversion requested to type {dtype.name!r} for AutoCastVariable which is "
                f"casted to type {self.dtype.name!r}"
            )
        return self._cast(self._variable.value())

    def _should_act_as_resource_variable(self):
        """Marks it as a variable of resource type."""

    def __getattr__(self, name):
        if name == "_variable":
            raise AttributeError(name)
        return getattr(self._variable, name)

    @property
    def _checkpoint_dependencies(self):
        return self._variable._checkpoint_dependencies

    def _gather_saveables_for_checkpoint(self):
        return self._variable._gather_saveables_for_checkpoint()

    def __repr__(self):
        cast = ""
        if self._should_cast():
            cast = f" dtype={self.dtype.name} true_dtype={self.true_dtype.name}"
        else:
            cast = f" dtype={self.true_dtype.name} true_dtype={self.true_dtype.name}"
        return f"<AutoCastVariable '{self.name}' shape={self.shape}{cast}>"


def _unary(name):
    return lambda self: getattr(self.value(), name)()


def _binary(name):
    def method(self, other):
        if isinstance(other, AutoCastVariable):
            other = other.value()
        return getattr(self.value(), name)(other)

    return method


for _name in ("__neg__", "__abs__", "__invert__"):
    setattr(AutoCastVariable, _name, _unary(_name))
for _name in "add sub mul truediv floordiv mod pow matmul".split():
    for _method in (f"__{_name}__", f"__r{_name}__"):
        setattr(AutoCastVariable, _method, _binary(_method))
for _name in ("lt", "le", "gt", "ge", "getitem"):
    setattr(AutoCastVariable, f"__{_name}__", _binary(f"__{_name}__"))


def _to_tensor(value, dtype=None, name=None, as_ref=False):
    return value._dense_var_to_tensor(dtype, name, as_ref)


ops.register_tensor_conversion_function(AutoCastVariable, _to_tensor, 50)


def create_autocast_variable(variable):
    """An AutoCastVariable of a variable."""
    return AutoCastVariable(variable)
