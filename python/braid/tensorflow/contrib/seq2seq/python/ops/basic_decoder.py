"""BasicDecoder: a cell whose next inputs a helper chooses."""

import collections

from braid.tensorflow.contrib.seq2seq.python.ops import decoder
from braid.tensorflow.contrib.seq2seq.python.ops import helper as helper_py
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.layers import base as layers_base
from braid.tensorflow.python.ops import rnn_cell_impl
from braid.tensorflow.python.util import nest

__all__ = ["BasicDecoderOutput", "BasicDecoder"]


class BasicDecoderOutput(collections.namedtuple("BasicDecoderOutput", ("rnn_output", "sample_id"))):
    """The output of the cell, and what the helper has chosen by it."""


def output_size_of(cell_output_size, output_layer):
    """The size of the outputs of a cell with a layer above it."""
    if output_layer is None:
        return cell_output_size

    def after_layer(size):
        shape = tensor_shape.TensorShape([None]).concatenate(tensor_shape.as_shape(size))
        return output_layer.compute_output_shape(shape)[1:]

    return nest.map_structure(after_layer, cell_output_size)


class BasicDecoder(decoder.Decoder):
    def __init__(self, cell, helper, initial_state, output_layer=None):
        rnn_cell_impl.assert_like_rnncell("cell", cell)
        if not isinstance(helper, helper_py.Helper):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        if output_layer is not None and not isinstance(output_layer, layers_base.base_layer.Layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell = cell
        self._helper = helper
        self._initial_state = initial_state
        self._output_layer = output_layer

    @property
    def batch_size(self):
        return self._helper.batch_size

    def _rnn_output_size(self):
        return output_size_of(self._cell.output_size, self._output_layer)

    @property
    def output_size(self):
        return BasicDecoderOutput(rnn_output=self._rnn_output_size(), sample_id=self._helper.sample_ids_shape)

    @property
    def output_dtype(self):
        dtype = nest.flatten(self._initial_state)[0].dtype
        return BasicDecoderOutput(
            nest.map_structure(lambda _: dtype, self._rnn_output_size()), self._helper.sample_ids_dtype
        )

    def initialize(self, name=None):
        return self._helper.initialize() + (self._initial_state,)

    def step(self, time, inputs, state, name=None):
        with ops.name_scope(name, "BasicDecoderStep", (time, inputs, state)):
            cell_outputs, cell_state = self._cell(inputs, state)
            if self._output_layer is not None:
                cell_outputs = self._output_layer(cell_outputs)
            sample_ids = self._helper.sample(time=time, outputs=cell_outputs, state=cell_state)
            finished, next_inputs, next_state = self._helper.next_inputs(
                time=time, outputs=cell_outputs, state=cell_state, sample_ids=sample_ids
            )
        return BasicDecoderOutput(cell_outputs, sample_ids), next_state, next_inputs, finished
