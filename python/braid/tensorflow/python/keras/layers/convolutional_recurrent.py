"""ConvLSTM2D: an LSTM whose products are convolutions of images."""

from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras import activations
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras import constraints
from braid.tensorflow.python.keras import initializers
from braid.tensorflow.python.keras import regularizers
from braid.tensorflow.python.keras.engine.base_layer import Layer
from braid.tensorflow.python.keras.engine.input_spec import InputSpec
from braid.tensorflow.python.keras.layers.recurrent import RNN
from braid.tensorflow.python.keras.layers.recurrent import StackedRNNCells
from braid.tensorflow.python.keras.utils import conv_utils
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import keras_export

_PARTS = (("initializer", initializers), ("regularizer", regularizers), ("constraint", constraints))


class ConvRNN2D(RNN):
    """Steps a cell over the time of images: [batch, time, rows, columns, channels], or channels third."""

    _counts_steps = True

    def __init__(self, cell, **kwargs):
        if kwargs.get("unroll"):
            raise TypeError("Unrolling isn't possible with convolutional RNNs.")
        if isinstance(cell, (list, tuple)) or isinstance(cell, StackedRNNCells):
            raise TypeError("It is not possible at the moment to stack convolutional cells.")
        super().__init__(cell, **kwargs)
        self.input_spec = [InputSpec(ndim=5)]

    def _image_shape(self, input_shape):
        """The shape of the states, with the batch."""
        sizes = tensor_shape.TensorShape(input_shape).as_list()
        cell = self.cell
        first = cell.data_format == "channels_first"
        lengths = [
            conv_utils.conv_output_length(n, k, cell.padding, s, d)
            for n, k, s, d in zip(
                sizes[3:5] if first else sizes[2:4], cell.kernel_size, cell.strides, cell.dilation_rate
            )
        ]
        return [sizes[0]] + ([cell.filters] + lengths if first else lengths + [cell.filters])

    def compute_output_shape(self, input_shape):
        if isinstance(input_shape, list):
            input_shape = input_shape[0]
        image = self._image_shape(input_shape)
        time = [tensor_shape.TensorShape(input_shape).as_list()[1]] if self.return_sequences else []
        output = tensor_shape.TensorShape(image[:1] + time + image[1:])
        if not self.return_state:
            return output
        return [output] + [tensor_shape.TensorShape(image) for _ in self.cell.state_size]

    def build(self, input_shape):
        if isinstance(input_shape, list):
            input_shape = input_shape[0]
        sizes = tensor_shape.TensorShape(input_shape).as_list()
        if not self.cell.built:
            self.cell.build(tensor_shape.TensorShape(sizes[:1] + sizes[2:]))
            self.cell.built = True
        if self.stateful:
            image = self._image_shape(input_shape)
            if None in image:
                raise ValueError(
                    "If a RNN is stateful, it needs to know its batch size. Specify the batch size of your input "
                    "tensors: \n- If using a Sequential model, specify the batch size by passing a "
                    "`batch_input_shape` argument to your first layer.\n- If using the functional API, specify "
                    "the time dimension by passing a `batch_shape` argument to your Input layer.\nThe same thing "
                    "goes for the number of rows and columns."
                )
            self._states = [K.zeros(image) for _ in self.cell.state_size]
        self.built = True

    def get_initial_state(self, inputs):
        # A convolution of zeros has the shape of the states.
        image = math_ops.reduce_sum(array_ops.zeros_like(inputs), axis=1)
        shape = list(self.cell.kernel_shape)
        shape[-1] = self.cell.filters
        image = self.cell.input_conv(image, array_ops.zeros(shape, inputs.dtype), padding=self.cell.padding)
        return [image for _ in self.cell.state_size]

    def _check_states(self, states):
        pass  # sizes of the cell's states are numbers of channels


class ConvLSTM2DCell(Layer):
    """The cell of ConvLSTM2D (Shi et al. 2015). Gates: input, forget, cell, output."""

    def __init__(
        self,
        filters,
        kernel_size,
        strides=(1, 1),
        padding="valid",
        data_format=None,
        dilation_rate=(1, 1),
        activation="tanh",
        recurrent_activation="hard_sigmoid",
        use_bias=True,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        unit_forget_bias=True,
        kernel_regularizer=None,
        recurrent_regularizer=None,
        bias_regularizer=None,
        kernel_constraint=None,
        recurrent_constraint=None,
        bias_constraint=None,
        dropout=0.0,
        recurrent_dropout=0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        given = locals()
        self.filters = filters
        self.kernel_size = conv_utils.normalize_tuple(kernel_size, 2, "kernel_size")
        self.strides = conv_utils.normalize_tuple(strides, 2, "strides")
        self.padding = conv_utils.normalize_padding(padding)
        self.data_format = conv_utils.normalize_data_format(data_format)
        self.dilation_rate = conv_utils.normalize_tuple(dilation_rate, 2, "dilation_rate")
        self.activation = activations.get(activation)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.use_bias, self.unit_forget_bias = use_bias, unit_forget_bias
        for kind, module in _PARTS:
            for weight in ("kernel", "recurrent", "bias"):
                setattr(self, f"{weight}_{kind}", module.get(given[f"{weight}_{kind}"]))
        self.dropout = min(1.0, max(0.0, dropout))
        self.recurrent_dropout = min(1.0, max(0.0, recurrent_dropout))
        self.state_size = (self.filters, self.filters)
        self.reset_dropout_mask()
        self.reset_recurrent_dropout_mask()

    def reset_dropout_mask(self):
        self.__dict__["_masks"] = None

    def reset_recurrent_dropout_mask(self):
        self.__dict__["_recurrent_masks"] = None

    def build(self, input_shape):
        channels = tensor_shape.TensorShape(input_shape).as_list()[
            1 if self.data_format == "channels_first" else -1
        ]
        if channels is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        self.kernel_shape = self.kernel_size + (channels, self.filters * 4)

        def forget_bias(_, *args, **kwargs):
            return K.concatenate(
                [
                    self.bias_initializer((self.filters,), *args, **kwargs),
                    initializers.Ones()((self.filters,), *args, **kwargs),
                    self.bias_initializer((self.filters * 2,), *args, **kwargs),
                ]
            )

        def make(name, prefix, shape, initializer):
            return self.add_weight(
                shape=shape,
                name=name,
                initializer=initializer,
                regularizer=getattr(self, prefix + "_regularizer"),
                constraint=getattr(self, prefix + "_constraint"),
            )

        self.kernel = make("kernel", "kernel", self.kernel_shape, self.kernel_initializer)
        shape = self.kernel_size + (self.filters, self.filters * 4)
        self.recurrent_kernel = make("recurrent_kernel", "recurrent", shape, self.recurrent_initializer)
        self.bias = None
        if self.use_bias:
            initializer = forget_bias if self.unit_forget_bias else self.bias_initializer
            self.bias = make("bias", "bias", (self.filters * 4,), initializer)
        self.built = True

    def _dropped(self, attribute, x, rate, training):
        """x for each gate, with a mask of its own in training, the same at all steps."""
        if not 0 < rate < 1:
            return [x] * 4
        if self.__dict__[attribute] is None:
            ones = array_ops.ones_like(x)
            self.__dict__[attribute] = [
                K.in_train_phase(lambda: K.dropout(ones, rate), ones, training=training) for _ in range(4)
            ]
        return [x * mask for mask in self.__dict__[attribute]]

    def call(self, inputs, states, training=None):
        h, c = states[0], states[1]
        xs = self._dropped("_masks", inputs, self.dropout, training)
        hs = self._dropped("_recurrent_masks", h, self.recurrent_dropout, training)
        kernels = array_ops.split(self.kernel, 4, axis=3)
        recurrent_kernels = array_ops.split(self.recurrent_kernel, 4, axis=3)
        biases = array_ops.split(self.bias, 4) if self.use_bias else [None] * 4
        i, f, g, o = [
            self.input_conv(x, kernel, bias, padding=self.padding) + self.recurrent_conv(h, recurrent)
            for x, kernel, bias, h, recurrent in zip(xs, kernels, biases, hs, recurrent_kernels)
        ]
        c = self.recurrent_activation(f) * c + self.recurrent_activation(i) * self.activation(g)
        h = self.recurrent_activation(o) * self.activation(c)
        return h, [h, c]

    def input_conv(self, x, w, b=None, padding="valid"):
        """The convolution of inputs."""
        result = K.conv2d(
            x,
            w,
            strides=self.strides,
            padding=padding,
            data_format=self.data_format,
            dilation_rate=self.dilation_rate,
        )
        return result if b is None else K.bias_add(result, b, data_format=self.data_format)

    def recurrent_conv(self, x, w):
        """The convolution of the state."""
        return K.conv2d(x, w, strides=(1, 1), padding="same", data_format=self.data_format)

    def get_config(self):
        config = {
            "filters": self.filters,
            "kernel_size": self.kernel_size,
            "strides": self.strides,
            "padding": self.padding,
            "data_format": self.data_format,
            "dilation_rate": self.dilation_rate,
            "activation": activations.serialize(self.activation),
            "recurrent_activation": activations.serialize(self.recurrent_activation),
            "use_bias": self.use_bias,
            "unit_forget_bias": self.unit_forget_bias,
            "dropout": self.dropout,
            "recurrent_dropout": self.recurrent_dropout,
        }
        for kind, module in _PARTS:
            for weight in ("kernel", "recurrent", "bias"):
                config[f"{weight}_{kind}"] = module.serialize(getattr(self, f"{weight}_{kind}"))
        return {**super().get_config(), **config}


@keras_export("keras.layers.ConvLSTM2D")
class ConvLSTM2D(ConvRNN2D):
    """An RNN of ConvLSTM2DCell, for [batch, time, rows, columns, channels]."""

    def __init__(
        self,
        filters,
        kernel_size,
        strides=(1, 1),
        padding="valid",
        data_format=None,
        dilation_rate=(1, 1),
        activation="tanh",
        recurrent_activation="hard_sigmoid",
        use_bias=True,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        unit_forget_bias=True,
        kernel_regularizer=None,
        recurrent_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        kernel_constraint=None,
        recurrent_constraint=None,
        bias_constraint=None,
        return_sequences=False,
        go_backwards=False,
        stateful=False,
        dropout=0.0,
        recurrent_dropout=0.0,
        **kwargs,
    ):
        cell = ConvLSTM2DCell(
            filters=filters,
            kernel_size=kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format,
            dilation_rate=dilation_rate,
            activation=activation,
            recurrent_activation=recurrent_activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            recurrent_initializer=recurrent_initializer,
            bias_initializer=bias_initializer,
            unit_forget_bias=unit_forget_bias,
            kernel_regularizer=kernel_regularizer,
            recurrent_regularizer=recurrent_regularizer,
            bias_regularizer=bias_regularizer,
            kernel_constraint=kernel_constraint,
            recurrent_constraint=recurrent_constraint,
            bias_constraint=bias_constraint,
            dropout=dropout,
            recurrent_dropout=recurrent_dropout,
            dtype=kwargs.get("dtype"),
        )
        super().__init__(
            cell,
            return_sequences=return_sequences,
            go_backwards=go_backwards,
            stateful=stateful,
            **kwargs,
        )
        self.activity_regularizer = regularizers.get(activity_regularizer)

    def __getattr__(self, name):
        # filters, kernel_size, activation, dropout, ... are the cell's.
        cell = self.__dict__.get("cell")
        if cell is None or name.startswith("_") or name not in cell.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(cell, name)

    def get_config(self):
        config = super().get_config()
        for unused in ("unroll", "time_major"):
            config.pop(unused, None)
        cell = config.pop("cell")["config"]
        config.update((k, v) for k, v in cell.items() if k not in ("name", "trainable", "dtype"))
        config["activity_regularizer"] = regularizers.serialize(self.activity_regularizer)
        return config

    @classmethod
    def from_config(cls, config):
        return cls(**config)
