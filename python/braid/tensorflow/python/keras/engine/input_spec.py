"""InputSpec: what a layer takes."""

from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import keras_export, tf_export


@keras_export("keras.layers.InputSpec")
@tf_export(v1=["layers.InputSpec"])
class InputSpec:
    """Rank, dtype and axes that an input must have; None stands for any.

    dtype: the type of the elements. shape: the shape, None for any length. ndim, max_ndim, min_ndim: the
    rank. axes: lengths by axis.
    """

    def __init__(self, dtype=None, shape=None, ndim=None, max_ndim=None, min_ndim=None, axes=None):
        self.dtype = dtype
        self.shape = shape
        self.ndim = len(shape) if shape is not None else ndim
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        self.axes = {int(k): (None if v is None else int(v)) for k, v in (axes or {}).items()}
        if self.axes and (self.ndim is not None or max_ndim is not None):
            last = (self.ndim if self.ndim is not None else max_ndim) - 1
            if max(self.axes) > last:
                raise ValueError(f"Axis {max(self.axes)} is greater than the maximum allowed value: {last}")

    def __repr__(self):
        parts = [f"{k}={v}" for k, v in vars(self).items() if v not in (None, {})]
        return f"InputSpec({', '.join(parts)})"

    def get_config(self):
        """The arguments of a specification like this one."""
        return {
            name: getattr(self, name) for name in ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")
        }

    @classmethod
    def from_config(cls, config):
        """The specification whose get_config gave `config`."""
        return cls(**config)


def to_tensor_shape(spec):
    """The TensorShape that an InputSpec describes."""
    if spec.shape is not None:
        return tensor_shape.TensorShape(spec.shape)
    if spec.ndim is None:
        return tensor_shape.TensorShape(None)
    shape = [None] * spec.ndim
    for axis, length in spec.axes.items():
        shape[axis] = length
    return tensor_shape.TensorShape(shape)


def assert_input_compatibility(input_spec, inputs, layer_name):
    """Raises ValueError where `inputs` are not what `input_spec`, one or several InputSpecs, asks for."""
    if not input_spec:
        return
    specs = nest.flatten(input_spec)
    inputs = nest.flatten(inputs)
    if len(inputs) != len(specs):
        raise ValueError(
            f"Layer {layer_name} expects {len(specs)} inputs, but it received {len(inputs)} input tensors. "
            f"Inputs received: {inputs}"
        )
    for i, (x, spec) in enumerate(zip(inputs, specs)):
        if spec is not None and hasattr(x, "shape"):
            _check(i, x, spec, layer_name)


def _check(index, x, spec, layer_name):
    shape = tensor_shape.TensorShape(x.shape)
    start = f"Input {index} of layer {layer_name} is incompatible with the layer: "
    rank = shape.ndims
    if rank is None:
        if spec.ndim is not None or spec.min_ndim is not None or spec.max_ndim is not None:
            raise ValueError(
                f"{start}its rank is undefined, but the layer requires a defined rank. Full shape received: unknown"
            )
        return
    lengths = shape.as_list()
    if spec.ndim is not None and rank != spec.ndim:
        raise ValueError(
            f"{start}expected ndim={spec.ndim}, found ndim={rank}. Full shape received: {lengths}"
        )
    if spec.max_ndim is not None and rank > spec.max_ndim:
        raise ValueError(f"{start}expected max_ndim={spec.max_ndim}, found ndim={rank}")
    if spec.min_ndim is not None and rank < spec.min_ndim:
        raise ValueError(
            f"{start}expected min_ndim={spec.min_ndim}, found ndim={rank}. Full shape received: {lengths}"
        )
    if spec.dtype is not None and x.dtype != spec.dtype:
        raise ValueError(f"{start}expected dtype={spec.dtype}, found dtype={x.dtype}")
    for axis, length in spec.axes.items():
        if length is not None and lengths[axis] not in (length, None):
            raise ValueError(
                f"{start}expected axis {axis} of input shape to have value {length} but received input with "
                f"shape {lengths}"
            )
    if spec.shape is not None:
        for want, got in zip(tensor_shape.TensorShape(spec.shape).as_list(), lengths):
            if want is not None and got is not None and want != got:
                raise ValueError(
                    f"Input {index} is incompatible with layer {layer_name}: expected shape={spec.shape}, found "
                    f"shape={lengths}"
                )
