"""Input: where a model begins."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras import backend
from braid.tensorflow.python.keras.engine import base_layer
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.layers.InputLayer")
class InputLayer(base_layer.Layer):
    """A placeholder, or a tensor of the program, as a layer. input_shape: without the batch."""

    _object_identifier = "_tf_keras_input_layer"

    def __init__(
        self,
        input_shape=None,
        batch_size=None,
        dtype=None,
        input_tensor=None,
        sparse=False,
        name=None,
        ragged=False,
        **kwargs,
    ):
        if "batch_input_shape" in kwargs:
            shape = kwargs.pop("batch_input_shape")
            if input_shape and shape:
                raise ValueError(
                    "Only provide the input_shape OR batch_input_shape argument to InputLayer, not both "
                    "at the same time."
                )
            batch_size, input_shape = (shape[0], tuple(shape[1:])) if shape else (None, None)
        if kwargs:
            raise ValueError("Unrecognized keyword arguments:", kwargs.keys())
        if not name:
            name = "input_" + str(backend.get_uid("input"))
        if not dtype:
            dtype = backend.floatx() if input_tensor is None else backend.dtype(input_tensor)
        super().__init__(dtype=dtype, name=name)
        self.built = True
        self.sparse, self.ragged = sparse, ragged
        self.batch_size = batch_size
        self.supports_masking = True
        if isinstance(input_shape, tensor_shape.TensorShape):
            input_shape = tuple(input_shape.as_list())
        elif isinstance(input_shape, int):
            input_shape = (input_shape,)
        if input_tensor is None:
            shape = None if input_shape is None else (batch_size,) + tuple(input_shape)
            with ops.name_scope(""):
                input_tensor = backend.placeholder(
                    shape=shape, dtype=dtype, name=self.name, sparse=sparse, ragged=ragged
                )
            self.is_placeholder = True
            self._batch_input_shape = shape
        else:
            self.is_placeholder = backend.is_placeholder(input_tensor)
            self._batch_input_shape = tuple(input_tensor.shape.as_list()) if input_tensor.shape.dims else None
        input_tensor._keras_mask = None
        graph = getattr(input_tensor, "graph", None) or ops.get_default_graph()
        graph._keras_has_inputs = True
        self._inbound_nodes = []
        node = base_layer.Node.__new__(base_layer.Node)
        node.outbound_layer = self
        node.input_tensors = node.output_tensors = [input_tensor]
        node.arguments = {}
        node.inbound_layers, node.node_indices, node.tensor_indices = [], [], []
        node.input_shapes = node.output_shapes = [self._batch_input_shape]
        node.iterate_inbound = lambda include_arguments=False: iter(())
        input_tensor._keras_history = base_layer.KerasHistory(self, 0, 0)
        self._inbound_nodes.append(node)

    def get_config(self):
        return {
            "batch_input_shape": self._batch_input_shape,
            "dtype": self.dtype,
            "sparse": self.sparse,
            "ragged": self.ragged,
            "name": self.name,
        }


@keras_export("keras.layers.Input", "keras.Input")
def Input(
    shape=None, batch_size=None, name=None, dtype=None, sparse=False, tensor=None, ragged=False, **kwargs
):
    """A placeholder from which a model is built. shape: without the batch.

    sparse: one of a SparseTensor. ragged: one of a RaggedTensor, whose ragged dimensions are None.
    """
    if sparse and ragged:
        raise ValueError("Cannot set both sparse and ragged to True in a Keras input.")
    if "batch_shape" in kwargs:
        batch_shape = kwargs.pop("batch_shape")
        if shape and batch_shape:
            raise ValueError(
                "Only provide the shape OR batch_shape argument to Input, not both at the same time."
            )
        batch_size, shape = (batch_shape[0], tuple(batch_shape[1:])) if batch_shape else (None, None)
    if kwargs:
        raise ValueError("Unrecognized keyword arguments:", kwargs.keys())
    if shape is None and tensor is None:
        raise ValueError(
            "Please provide to Input either a `shape` or a `tensor` argument. Note that `shape` does not "
            "include the batch dimension."
        )
    layer = InputLayer(
        input_shape=shape,
        batch_size=batch_size,
        name=name,
        dtype=dtype,
        sparse=sparse,
        ragged=ragged,
        input_tensor=tensor,
    )
    return layer._inbound_nodes[0].output_tensors[0]
