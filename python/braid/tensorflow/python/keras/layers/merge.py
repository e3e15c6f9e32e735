"""Layers of several inputs: sums, products, means, side by side."""

from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras.engine.base_layer import Layer
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.util.tf_export import keras_export


def _check_masks(inputs, mask):
    """ValueError: there is not one mask for each input."""
    if not isinstance(mask, (tuple, list)):
        raise ValueError("`mask` should be a list.")
    if not isinstance(inputs, (tuple, list)):
        raise ValueError("`inputs` should be a list.")
    if len(mask) != len(inputs):
        raise ValueError("The lists `inputs` and `mask` should have the same length.")


class _Merge(Layer):
    """One output of several inputs, element by element; inputs of fewer dimensions are broadcast."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def _merge_function(self, inputs):
        raise NotImplementedError(f"{type(self).__name__}._merge_function")

    def build(self, input_shape):
        if not isinstance(input_shape, (list, tuple)) or len(input_shape) < 2:
            raise ValueError(
                "A merge layer should be called on a list of at least 2 inputs. "
                f"Got {1 if not isinstance(input_shape, (list, tuple)) else len(input_shape)} inputs."
            )
        batches = {s.as_list()[0] for s in input_shape if s.ndims} - {None}
        if len(batches) > 1:
            raise ValueError(
                f"Can not merge tensors with different batch sizes. Got tensors with shapes : "
                f"{input_shape}"
            )
        self._joined_shape([s.as_list() for s in input_shape])
        self.built = True

    @staticmethod
    def _joined_shape(shapes):
        """The shape of all, broadcast."""
        result = shapes[0]
        for shape in shapes[1:]:
            a, b = (result, shape) if len(result) >= len(shape) else (shape, result)
            tail = a[len(a) - len(b) + 1 :] if len(b) > 0 else []
            joined = list(a[: len(a) - len(tail)])
            for i, j in zip(tail, b[1:]):
                if i is None or j is None:
                    joined.append(None)
                elif i == 1 or j == 1 or i == j:
                    joined.append(max(i, j) if 1 in (i, j) else i)
                else:
                    raise ValueError(f"Operands could not be broadcast together with shapes {a} {b}")
            result = joined
        return result

    def call(self, inputs):
        if not isinstance(inputs, (list, tuple)):
            raise ValueError("A merge layer should be called on a list of inputs.")
        ranks = [K.ndim(x) for x in inputs]
        if None not in ranks and len(set(ranks)) > 1:
            top = max(ranks)
            # Dimensions are added after the batch.
            inputs = [self._widened(x, top - rank) for x, rank in zip(inputs, ranks)]
        return self._merge_function(list(inputs))

    @staticmethod
    def _widened(x, count):
        for _ in range(count):
            x = array_ops.expand_dims(x, axis=1)
        return x

    def compute_output_shape(self, input_shape):
        return tensor_shape.TensorShape(
            self._joined_shape([tensor_shape.TensorShape(s).as_list() for s in input_shape])
        )

    def compute_mask(self, inputs, mask=None):
        if mask is None:
            return None
        _check_masks(inputs, mask)
        if all(m is None for m in mask):
            return None
        masks = [array_ops.expand_dims(m, axis=0) for m in mask if m is not None]
        return K.all(K.concatenate(masks, axis=0), axis=0, keepdims=False)


@keras_export("keras.layers.Add")
class Add(_Merge):
    """The sum."""

    def _merge_function(self, inputs):
        output = inputs[0]
        for x in inputs[1:]:
            output = output + x
        return output


@keras_export("keras.layers.Subtract")
class Subtract(_Merge):
    """The difference of two."""

    def build(self, input_shape):
        super().build(input_shape)
        self._check_count(input_shape)

    @staticmethod
    def _check_count(inputs):
        if len(inputs) != 2:
            raise ValueError("A `Subtract` layer should be called on exactly 2 inputs")

    def _merge_function(self, inputs):
        self._check_count(inputs)
        return inputs[0] - inputs[1]


@keras_export("keras.layers.Multiply")
class Multiply(_Merge):
    """The product."""

    def _merge_function(self, inputs):
        output = inputs[0]
        for x in inputs[1:]:
            output = output * x
        return output


@keras_export("keras.layers.Average")
class Average(_Merge):
    """The mean."""

    def _merge_function(self, inputs):
        output = inputs[0]
        for x in inputs[1:]:
            output = output + x
        return output / len(inputs)


@keras_export("keras.layers.Maximum")
class Maximum(_Merge):
    """The largest."""

    def _merge_function(self, inputs):
        output = inputs[0]
        for x in inputs[1:]:
            output = math_ops.maximum(output, x)
        return output


@keras_export("keras.layers.Minimum")
class Minimum(_Merge):
    """The smallest."""

    def _merge_function(self, inputs):
        output = inputs[0]
        for x in inputs[1:]:
            output = math_ops.minimum(output, x)
        return output


@keras_export("keras.layers.Concatenate")
class Concatenate(_Merge):
    """The inputs side by side along an axis."""

    def __init__(self, axis=-1, **kwargs):
        super().__init__(**kwargs)
        self.axis = axis

    def build(self, input_shape):
        if not isinstance(input_shape, (list, tuple)) or len(input_shape) < 2:
            raise ValueError("A `Concatenate` layer should be called on a list of at least 2 inputs")
        shapes = [s.as_list() for s in input_shape if s.ndims is not None]
        rests = [[d for i, d in enumerate(s) if i != self.axis % len(s)] for s in shapes]
        for rest in rests[1:]:
            if len(rest) != len(rests[0]) or any(
                a is not None and b is not None and a != b for a, b in zip(rest, rests[0])
            ):
                raise ValueError(
                    "A `Concatenate` layer requires inputs with matching shapes except for the concat axis. "
                    f"Got inputs shapes: {shapes}"
                )
        self.built = True

    def _merge_function(self, inputs):
        return K.concatenate(inputs, axis=self.axis)

    def compute_output_shape(self, input_shape):
        shapes = [tensor_shape.TensorShape(s).as_list() for s in input_shape]
        result = list(shapes[0])
        for shape in shapes[1:]:
            if result[self.axis] is None or shape[self.axis] is None:
                result[self.axis] = None
                break
            result[self.axis] += shape[self.axis]
        return tensor_shape.TensorShape(result)

    def compute_mask(self, inputs, mask=None):
        if mask is not None:
            _check_masks(inputs, mask)
        if mask is None or all(m is None for m in mask):
            return None
        masks = []
        for x, m in zip(inputs, mask):
            if m is None:
                masks.append(array_ops.ones_like(x, dtype="bool"))
            elif K.ndim(m) < K.ndim(x):
                masks.append(array_ops.expand_dims(m, axis=-1))
            else:
                masks.append(m)
        return K.all(K.concatenate(masks, axis=self.axis), axis=-1, keepdims=False)

    def get_config(self):
        return {**super().get_config(), "axis": self.axis}


@keras_export("keras.layers.Dot")
class Dot(_Merge):
    """The products over an axis of two inputs. normalize: of their directions."""

    def __init__(self, axes, normalize=False, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(axes, int):
            if not isinstance(axes, (list, tuple)) or len(axes) != 2:
                raise ValueError("Invalid type for `axes` - should be a list of 2 ints or an int.")
        self.axes, self.normalize = axes, normalize

    def _axes(self, ranks):
        pair = [self.axes, self.axes] if isinstance(self.axes, int) else list(self.axes)
        return [axis % rank for axis, rank in zip(pair, ranks)]

    def build(self, input_shape):
        if not isinstance(input_shape, (list, tuple)) or len(input_shape) != 2:
            raise ValueError("A `Dot` layer should be called on a list of 2 inputs.")
        a, b = [s.as_list() for s in input_shape]
        i, j = self._axes((len(a), len(b)))
        if a[i] is not None and b[j] is not None and a[i] != b[j]:
            raise ValueError(f"Dimension incompatibility {a[i]} != {b[j]}. Layer shapes: {a}, {b}")
        self.built = True

    def call(self, inputs):
        x, y = inputs
        axes = self._axes((K.ndim(x), K.ndim(y)))
        if self.normalize:
            x, y = nn.l2_normalize(x, axis=axes[0]), nn.l2_normalize(y, axis=axes[1])
        return K.batch_dot(x, y, axes)

    def compute_output_shape(self, input_shape):
        if not isinstance(input_shape, (list, tuple)) or len(input_shape) != 2:
            raise ValueError("A `Dot` layer should be called on a list of 2 inputs.")
        a, b = [tensor_shape.TensorShape(s).as_list() for s in input_shape]
        i, j = self._axes((len(a), len(b)))
        a.pop(i)
        b.pop(j)
        result = a + b[1:]
        return tensor_shape.TensorShape(result + [1] if len(result) == 1 else result)

    def compute_mask(self, inputs, mask=None):
        return None

    def get_config(self):
        return {**super().get_config(), "axes": self.axes, "normalize": self.normalize}


@keras_export("keras.layers.add")
def add(inputs, **kwargs):
    return Add(**kwargs)(inputs)


@keras_export("keras.layers.subtract")
def subtract(inputs, **kwargs):
    return Subtract(**kwargs)(inputs)


@keras_export("keras.layers.multiply")
def multiply(inputs, **kwargs):
    return Multiply(**kwargs)(inputs)


@keras_export("keras.layers.average")
def average(inputs, **kwargs):
    return Average(**kwargs)(inputs)


@keras_export("keras.layers.maximum")
def maximum(inputs, **kwargs):
    return Maximum(**kwargs)(inputs)


@keras_export("keras.layers.minimum")
def minimum(inputs, **kwargs):
    return Minimum(**kwargs)(inputs)


@keras_export("keras.layers.concatenate")
def concatenate(inputs, axis=-1, **kwargs):
    return Concatenate(axis=axis, **kwargs)(inputs)


@keras_export("keras.layers.dot")
def dot(inputs, axes, normalize=False, **kwargs):
    return Dot(axes=axes, normalize=normalize, **kwargs)(inputs)
