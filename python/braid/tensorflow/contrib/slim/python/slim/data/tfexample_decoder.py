"""Decoders of serialized tf.train.Example: which features are read, and what items are made of them."""

import abc

from braid.tensorflow.contrib.slim.python.slim.data import data_decoder
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import image_ops
from braid.tensorflow.python.ops import map_fn
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import parsing_ops
from braid.tensorflow.python.ops import sparse_ops

__all__ = [
    "BackupHandler",
    "BoundingBox",
    "Image",
    "ItemHandler",
    "ItemHandlerCallback",
    "LookupTensor",
    "SparseTensor",
    "TFExampleDecoder",
    "TFSequenceExampleDecoder",
    "Tensor",
]


def _dense(tensor, default_value=0):
    if isinstance(tensor, sparse_tensor.SparseTensor):
        return sparse_ops.sparse_tensor_to_dense(tensor, default_value)
    return tensor


class ItemHandler(metaclass=abc.ABCMeta):
    """Makes an item of the features `keys`."""

    def __init__(self, keys):
        self._keys = list(keys) if isinstance(keys, (tuple, list)) else [keys]

    @property
    def keys(self):
        return self._keys

    @abc.abstractmethod
    def tensors_to_item(self, keys_to_tensors):
        """The item, of {feature: tensor}."""


class ItemHandlerCallback(ItemHandler):
    """The item that a function of {feature: tensor} makes."""

    def __init__(self, keys, func):
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors):
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """[boxes, 4]: four features side by side, which are called ymin, xmin, ymax, xmax behind `prefix`."""

    def __init__(self, keys=None, prefix=""):
        keys = ["ymin", "xmin", "ymax", "xmax"] if keys is None else keys
        if len(keys) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(keys)}")
        self._full_keys = [prefix + k for k in keys]
        super().__init__(self._full_keys)

    def tensors_to_item(self, keys_to_tensors):
        sides = []
        for key in self._full_keys:
            side = keys_to_tensors[key]
            if isinstance(side, sparse_tensor.SparseTensor):
                side = side.values
            sides.append(array_ops.expand_dims(side, 0))
        return array_ops.transpose(array_ops.concat(sides, 0))


class Tensor(ItemHandler):
    """A feature, dense, in the shape `shape` or in that which the features `shape_keys` say."""

    def __init__(self, tensor_key, shape_keys=None, shape=None, default_value=0):
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        if shape_keys and not isinstance(shape_keys, list):
            shape_keys = [shape_keys]
        self._tensor_key = tensor_key
        self._shape_keys = shape_keys
        self._shape = shape
        self._default_value = default_value
        super().__init__([tensor_key] + (shape_keys or []))

    def tensors_to_item(self, keys_to_tensors):
        tensor = keys_to_tensors[self._tensor_key]
        shape = self._shape
        if self._shape_keys:
            sizes = [_dense(keys_to_tensors[k]) for k in self._shape_keys]
            shape = array_ops.reshape(array_ops.stack(sizes), [-1])
        if isinstance(tensor, sparse_tensor.SparseTensor):
            if shape is not None:
                tensor = sparse_ops.sparse_reshape(tensor, shape)
            return sparse_ops.sparse_tensor_to_dense(tensor, self._default_value)
        return tensor if shape is None else array_ops.reshape(tensor, shape)


class LookupTensor(Tensor):
    """A Tensor, looked up in a table."""

    def __init__(self, tensor_key, table, shape_keys=None, shape=None, default_value=""):
        self._table = table
        super().__init__(tensor_key, shape_keys, shape, default_value)

    def tensors_to_item(self, keys_to_tensors):
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """The item of `handler`, or that of `backup` where it is empty."""

    def __init__(self, handler, backup):
        for given, what in ((handler, "Primary"), (backup, "Backup")):
            if not isinstance(given, ItemHandler):
                raise ValueError(f"{what} handler is of type {type(given)} instead of ItemHandler")
        self._handler = handler
        self._backup = backup
        super().__init__(handler.keys + backup.keys)

    def tensors_to_item(self, keys_to_tensors):
        item = self._handler.tensors_to_item(keys_to_tensors)
        return control_flow_ops.cond(
            math_ops.equal(math_ops.reduce_prod(array_ops.shape(item)), 0),
            lambda: self._backup.tensors_to_item(keys_to_tensors),
            lambda: item,
        )


class SparseTensor(ItemHandler):
    """A SparseTensor of features for its indices, values and shape; dense if `densify`."""

    def __init__(
        self, indices_key=None, values_key=None, shape_key=None, shape=None, densify=False, default_value=0
    ):
        self._indices_key = indices_key or "indices"
        self._values_key = values_key or "values"
        self._shape_key = shape_key
        self._shape = shape
        self._densify = densify
        self._default_value = default_value
        keys = [self._indices_key, self._values_key]
        super().__init__(keys + [shape_key] if shape_key else keys)

    def tensors_to_item(self, keys_to_tensors):
        indices = keys_to_tensors[self._indices_key]
        values = keys_to_tensors[self._values_key]
        if self._shape_key:
            shape = keys_to_tensors[self._shape_key]
            if isinstance(shape, sparse_tensor.SparseTensor):
                shape = sparse_ops.sparse_tensor_to_dense(shape)
        elif self._shape:
            shape = self._shape
        else:
            shape = indices.dense_shape
        # The values of the indices are the last coordinate; the others are where they are themselves.
        last = math_ops.cast(array_ops.reshape(indices.values, [-1, 1]), dtypes.int64)
        others = indices.indices[:, :-1]
        tensor = sparse_tensor.SparseTensor(array_ops.concat([others, last], 1), values.values, shape)
        return sparse_ops.sparse_tensor_to_dense(tensor, self._default_value) if self._densify else tensor


class Image(ItemHandler):
    """An image: of any format that tf.image.decode_image knows, or its elements (format "raw").

    image_key: the feature of the bytes. format_key: that of the format. repeated: there are several.
    """

    def __init__(
        self,
        image_key=None,
        format_key=None,
        shape=None,
        channels=3,
        dtype=dtypes.uint8,
        repeated=False,
        dct_method="",
    ):
        self._image_key = image_key or "image/encoded"
        self._format_key = format_key or "image/format"
        self._shape = shape
        self._channels = channels
        self._dtype = dtype
        self._repeated = repeated
        self._dct_method = dct_method
        super().__init__([self._image_key, self._format_key])

    def tensors_to_item(self, keys_to_tensors):
        buffer = keys_to_tensors[self._image_key]
        image_format = keys_to_tensors[self._format_key]
        if self._repeated:
            return map_fn.map_fn(lambda x: self._decode(x, image_format), buffer, dtype=self._dtype)
        return self._decode(buffer, image_format)

    def _decode(self, buffer, image_format):
        def decode_image():
            return math_ops.cast(image_ops.decode_image(buffer, channels=self._channels), self._dtype)

        def decode_jpeg():
            image = image_ops.decode_jpeg(buffer, channels=self._channels, dct_method=self._dct_method)
            return math_ops.cast(image, self._dtype)

        def decode_encoded():
            return control_flow_ops.cond(
                image_ops.is_jpeg(buffer), decode_jpeg, decode_image, name="cond_jpeg"
            )

        def decode_raw():
            return parsing_ops.decode_raw(buffer, out_type=self._dtype)

        is_raw = math_ops.logical_or(math_ops.equal(image_format, "raw"), math_ops.equal(image_format, "RAW"))
        image = control_flow_ops.cond(is_raw, decode_raw, decode_encoded)
        image.set_shape([None, None, self._channels])
        return image if self._shape is None else array_ops.reshape(image, self._shape)


class TFExampleDecoder(data_decoder.DataDecoder):
    """Items of tf.train.Example: {feature: how it is parsed}, and {item: its handler}."""

    def __init__(self, keys_to_features, items_to_handlers):
        self._keys_to_features = keys_to_features
        self._items_to_handlers = items_to_handlers

    def list_items(self):
        return list(self._items_to_handlers)

    def decode(self, serialized_example, items=None):
        example = parsing_ops.parse_single_example(serialized_example, self._keys_to_features)
        for key in sorted(self._keys_to_features):
            feature = self._keys_to_features[key]
            if isinstance(feature, parsing_ops.FixedLenFeature):
                example[key] = array_ops.reshape(example[key], feature.shape)
        return _items(self._items_to_handlers, items, example)


class TFSequenceExampleDecoder(data_decoder.DataDecoder):
    """Items of tf.train.SequenceExample: how features of the context and of sequences are parsed, and handlers."""

    def __init__(self, keys_to_context_features, keys_to_sequence_features, items_to_handlers):
        both = set(keys_to_context_features) & set(keys_to_sequence_features)
        if both:
            raise ValueError(f"Context and sequence keys are not unique. Overlapping keys: {sorted(both)}")
        self._keys_to_context_features = keys_to_context_features
        self._keys_to_sequence_features = keys_to_sequence_features
        self._items_to_handlers = items_to_handlers

    def list_items(self):
        return list(self._items_to_handlers)

    def decode(self, serialized_example, items=None):
        context, sequences = parsing_ops.parse_single_sequence_example(
            serialized_example, self._keys_to_context_features, self._keys_to_sequence_features
        )
        for key in sorted(self._keys_to_context_features):
            feature = self._keys_to_context_features[key]
            if isinstance(feature, parsing_ops.FixedLenFeature):
                context[key] = array_ops.reshape(context[key], feature.shape)
        return _items(self._items_to_handlers, items, {**context, **sequences})


def _items(handlers, items, tensors):
    made = []
    for item in items or list(handlers):
        handler = handlers[item]
        made.append(handler.tensors_to_item({key: tensors[key] for key in handler.keys}))
    return made
