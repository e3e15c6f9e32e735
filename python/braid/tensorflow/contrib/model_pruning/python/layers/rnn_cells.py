"""LSTM cells with masked kernels."""

from braid.tensorflow.contrib.model_pruning.python.layers import core_layers
from braid.tensorflow.python.ops import rnn_cell_impl


class _Masked:
    """What the cells below have before tf.nn.rnn_cell's."""

    def build(self, inputs_shape):
        super().build(inputs_shape)
        self.built = False  # variables follow
        self._mask, self._threshold, self._masked_kernel = core_layers.add_mask(self, self._kernel)
        self.built = True

    def call(self, inputs, state):
        kernel = self.__dict__["_kernel"]
        self.__dict__["_kernel"] = self._masked_kernel
        try:
            return super().call(inputs, state)
        finally:
            self.__dict__["_kernel"] = kernel


class MaskedBasicLSTMCell(_Masked, rnn_cell_impl.BasicLSTMCell):
    """BasicLSTMCell with a masked kernel."""

    def __init__(
        self, num_units, forget_bias=1.0, state_is_tuple=True, activation=None, reuse=None, name=None
    ):
        super().__init__(
            num_units,
            forget_bias=forget_bias,
            state_is_tuple=state_is_tuple,
            activation=activation,
            reuse=reuse,
            name=name,
        )


class MaskedLSTMCell(_Masked, rnn_cell_impl.LSTMCell):
    """LSTMCell with a masked kernel; the kernel of its projection has no mask."""

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        cell_clip=None,
        initializer=None,
        num_proj=None,
        proj_clip=None,
        num_unit_shards=None,
        num_proj_shards=None,
        forget_bias=1.0,
        state_is_tuple=True,
        activation=None,
        reuse=None,
    ):
        super().__init__(
            num_units,
            use_peepholes=use_peepholes,
            cell_clip=cell_clip,
            initializer=initializer,
            num_proj=num_proj,
            proj_clip=proj_clip,
            num_unit_shards=num_unit_shards,
            num_proj_shards=num_proj_shards,
            forget_bias=forget_bias,
            state_is_tuple=state_is_tuple,
            activation=activation,
            reuse=reuse,
        )
