"""Wrappers of recurrent cells, as layers of Keras."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras.layers.recurrent import AbstractRNNCell
from braid.tensorflow.python.ops import rnn_cell_impl
from braid.tensorflow.python.util import nest


class _RNNCellWrapperV2(AbstractRNNCell):
    """What they share. cell: the cell within, of Keras or of tf.nn."""

    def __init__(self, cell, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.cell = cell

    @property
    def state_size(self):
        return self.cell.state_size

    @property
    def output_size(self):
        return self.cell.output_size

    def zero_state(self, batch_size, dtype):
        """The first state of the cell."""
        return self.cell.zero_state(batch_size, dtype)

    def build(self, inputs_shape):
        if not self.cell.built:
            self.cell.build(inputs_shape)
            self.cell.built = True
        self.built = True

    def call(self, inputs, state, **kwargs):
        return self._wrapped(inputs, state, self.cell.call, **kwargs)

    def _wrapped(self, inputs, state, call, **kwargs):
        raise NotImplementedError(f"{type(self).__name__}._wrapped")

    def get_config(self):
        cell = {"class_name": type(self.cell).__name__, "config": self.cell.get_config()}
        return {**super().get_config(), "cell": cell}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        from braid.tensorflow.python.keras.layers import deserialize

        config = dict(config)
        return cls(deserialize(config.pop("cell"), custom_objects=custom_objects), **config)


class DropoutWrapper(_RNNCellWrapperV2):
    """Dropout of inputs, outputs and states; the arguments are those of tf.nn.rnn_cell.DropoutWrapper."""

    _OWN = (
        "input_keep_prob",
        "output_keep_prob",
        "state_keep_prob",
        "variational_recurrent",
        "input_size",
        "seed",
        "dropout_state_filter_visitor",
    )

    def __init__(self, cell, *args, **kwargs):
        own = dict(zip(self._OWN, args))
        own.update((k, kwargs.pop(k)) for k in self._OWN if k in kwargs)
        super().__init__(cell, **kwargs)
        self._settings = own
        if own.get("variational_recurrent") and "dtype" in kwargs:
            own = dict(own, dtype=kwargs["dtype"])
        self.__dict__["_dropout"] = rnn_cell_impl.DropoutWrapper(cell, **own)

    def _wrapped(self, inputs, state, call, **kwargs):
        return self.__dict__["_dropout"].call(inputs, state)

    def get_config(self):
        return {**super().get_config(), **self._settings}


class ResidualWrapper(_RNNCellWrapperV2):
    """The cell's outputs plus its inputs, or residual_fn(inputs, outputs)."""

    def __init__(self, cell, residual_fn=None, **kwargs):
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def _wrapped(self, inputs, state, call, **kwargs):
        outputs, state = call(inputs, state, **kwargs)

        def added(x, y):
            x.shape.assert_is_compatible_with(y.shape)
            return x + y

        fn = self._residual_fn or (lambda xs, ys: nest.map_structure(added, xs, ys))
        return fn(inputs, outputs), state


class DeviceWrapper(_RNNCellWrapperV2):
    """The cell on a device."""

    def __init__(self, cell, device, **kwargs):
        super().__init__(cell, **kwargs)
        self._device = device

    def _wrapped(self, inputs, state, call, **kwargs):
        with ops.device(self._device):
            return call(inputs, state, **kwargs)

    def get_config(self):
        return {**super().get_config(), "device": self._device}
