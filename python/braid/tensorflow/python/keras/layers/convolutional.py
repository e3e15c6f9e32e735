"""Convolutions, for keras and for tf.layers."""

from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras import activations
from braid.tensorflow.python.keras import backend
from braid.tensorflow.python.keras import constraints
from braid.tensorflow.python.keras import initializers
from braid.tensorflow.python.keras import regularizers
from braid.tensorflow.python.keras.engine.base_layer import Layer
from braid.tensorflow.python.keras.engine.input_spec import InputSpec
from braid.tensorflow.python.keras.utils import conv_utils
from braid.tensorflow.python.keras.utils import generic_utils
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import nn_impl
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.util.tf_export import keras_export

_LAST, _FIRST = "channels_last", "channels_first"


class Conv(Layer):
    """A convolution of `rank` axes, a bias and an activation.

    filters: the number of outputs. kernel_size, strides, dilation_rate: an integer, or one for each axis.
    padding: "valid", "same", or for one axis "causal", where no output sees later inputs.
    """

    def __init__(
        self,
        rank,
        filters,
        kernel_size,
        strides=1,
        padding="valid",
        data_format=None,
        dilation_rate=1,
        activation=None,
        use_bias=True,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        kernel_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        kernel_constraint=None,
        bias_constraint=None,
        trainable=True,
        name=None,
        **kwargs,
    ):
        super().__init__(
            trainable=trainable,
            name=name,
            activity_regularizer=regularizers.get(activity_regularizer),
            **kwargs,
        )
        self.rank = rank
        self.filters = int(filters) if filters is not None else None
        self.kernel_size = conv_utils.normalize_tuple(kernel_size, rank, "kernel_size")
        if not all(self.kernel_size):
            raise ValueError(f"The argument `kernel_size` cannot contain 0(s). Received: {kernel_size}")
        self.strides = conv_utils.normalize_tuple(strides, rank, "strides")
        self.padding = conv_utils.normalize_padding(padding)
        if self.padding == "causal" and not isinstance(self, (Conv1D, SeparableConv1D)):
            raise ValueError("Causal padding is only supported for `Conv1D` and ``SeparableConv1D`.")
        self.data_format = conv_utils.normalize_data_format(data_format)
        self.dilation_rate = conv_utils.normalize_tuple(dilation_rate, rank, "dilation_rate")
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.input_spec = InputSpec(ndim=rank + 2)

    @property
    def _channel_axis(self):
        return 1 if self.data_format == _FIRST else -1

    @property
    def _spatial(self):
        """The axes that are convolved."""
        first = 2 if self.data_format == _FIRST else 1
        return range(first, first + self.rank)

    def _channels(self, input_shape):
        channels = tensor_shape.dimension_value(tensor_shape.TensorShape(input_shape)[self._channel_axis])
        if channels is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self._channel_axis: channels})
        return channels

    def _add_bias(self):
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                name="bias",
                shape=(self.filters,),
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
                trainable=True,
                dtype=self.dtype,
            )

    def build(self, input_shape):
        input_shape = tensor_shape.TensorShape(input_shape)
        self.kernel = self.add_weight(
            name="kernel",
            shape=self.kernel_size + (self._channels(input_shape), self.filters),
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
            trainable=True,
            dtype=self.dtype,
        )
        self._add_bias()
        padding = "valid" if self.padding == "causal" else self.padding
        self._convolution_op = nn_ops.Convolution(
            input_shape,
            filter_shape=self.kernel.get_shape(),
            dilation_rate=self.dilation_rate,
            strides=self.strides,
            padding=padding.upper() if isinstance(padding, str) else padding,
            data_format=conv_utils.convert_data_format(self.data_format, self.rank + 2),
        )
        self.built = True

    def call(self, inputs):
        return self._finish(self._convolution_op(inputs, self.kernel))

    def _finish(self, outputs):
        """With the bias and the activation."""
        if self.use_bias:
            if self.data_format == _FIRST and self.rank != 2:
                if self.rank == 1:
                    outputs += array_ops.reshape(self.bias, (1, self.filters, 1))
                else:
                    sizes = outputs.shape.as_list()
                    batch = -1 if sizes[0] is None else sizes[0]
                    flat = array_ops.reshape(outputs, [batch, sizes[1], sizes[2] * sizes[3], sizes[4]])
                    flat = nn_ops.bias_add(flat, self.bias, data_format="NCHW")
                    outputs = array_ops.reshape(flat, [batch] + sizes[1:])
            else:
                layout = "NCHW" if self.data_format == _FIRST else "NHWC"
                outputs = nn_ops.bias_add(outputs, self.bias, data_format=layout)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape):
        sizes = tensor_shape.TensorShape(input_shape).as_list()
        for number, axis in enumerate(self._spatial):
            sizes[axis] = conv_utils.conv_output_length(
                sizes[axis],
                self.kernel_size[number],
                padding=self.padding,
                stride=self.strides[number],
                dilation=self.dilation_rate[number],
            )
        sizes[self._channel_axis] = self.filters
        return tensor_shape.TensorShape(sizes)

    def _compute_causal_padding(self):
        pad = self.dilation_rate[0] * (self.kernel_size[0] - 1)
        return [[0, 0], [pad, 0], [0, 0]] if self.data_format == _LAST else [[0, 0], [0, 0], [pad, 0]]

    def get_config(self):
        config = {
            "filters": self.filters,
            "kernel_size": self.kernel_size,
            "strides": self.strides,
            "padding": self.padding,
            "data_format": self.data_format,
            "dilation_rate": self.dilation_rate,
            "activation": activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "kernel_initializer": initializers.serialize(self.kernel_initializer),
            "bias_initializer": initializers.serialize(self.bias_initializer),
            "kernel_regularizer": regularizers.serialize(self.kernel_regularizer),
            "bias_regularizer": regularizers.serialize(self.bias_regularizer),
            "activity_regularizer": regularizers.serialize(self.activity_regularizer),
            "kernel_constraint": constraints.serialize(self.kernel_constraint),
            "bias_constraint": constraints.serialize(self.bias_constraint),
        }
        return {**super().get_config(), **config}


@keras_export("keras.layers.Conv1D", "keras.layers.Convolution1D")
class Conv1D(Conv):
    @generic_utils.shows_parameters(Conv, dilation_rate=1)
    def __init__(self, filters, kernel_size, strides=1, padding="valid", data_format=_LAST, *args, **kwargs):
        super().__init__(1, filters, kernel_size, strides, padding, data_format, *args, **kwargs)

    def call(self, inputs):
        if self.padding == "causal":
            inputs = array_ops.pad(inputs, self._compute_causal_padding())
        return super().call(inputs)


@keras_export("keras.layers.Conv2D", "keras.layers.Convolution2D")
class Conv2D(Conv):
    @generic_utils.shows_parameters(Conv, dilation_rate=(1, 1))
    def __init__(
        self, filters, kernel_size, strides=(1, 1), padding="valid", data_format=None, *args, **kwargs
    ):
        super().__init__(2, filters, kernel_size, strides, padding, data_format, *args, **kwargs)


@keras_export("keras.layers.Conv3D", "keras.layers.Convolution3D")
class Conv3D(Conv):
    @generic_utils.shows_parameters(Conv, dilation_rate=(1, 1, 1))
    def __init__(
        self, filters, kernel_size, strides=(1, 1, 1), padding="valid", data_format=None, *args, **kwargs
    ):
        super().__init__(3, filters, kernel_size, strides, padding, data_format, *args, **kwargs)


class _ConvTranspose(Conv):
    """The transpose of a convolution. `output_padding` chooses among the shapes that the input may come from."""

    _function = None

    def _init_transpose(self, output_padding):
        self.output_padding = output_padding
        if output_padding is not None:
            self.output_padding = conv_utils.normalize_tuple(output_padding, self.rank, "output_padding")
            for stride, out_pad in zip(self.strides, self.output_padding):
                if out_pad >= stride:
                    raise ValueError(
                        f"Stride {self.strides} must be greater than output padding {self.output_padding}"
                    )

    def build(self, input_shape):
        input_shape = tensor_shape.TensorShape(input_shape)
        if input_shape.ndims != self.rank + 2:
            raise ValueError(f"Inputs should have rank {self.rank + 2}. Received input shape: {input_shape}")
        self.kernel = self.add_weight(
            "kernel",
            shape=self.kernel_size + (self.filters, self._channels(input_shape)),
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
            trainable=True,
            dtype=self.dtype,
        )
        self._add_bias()
        self.built = True

    def _output_length(self, length, number):
        return conv_utils.deconv_output_length(
            length,
            self.kernel_size[number],
            padding=self.padding,
            output_padding=None if self.output_padding is None else self.output_padding[number],
            stride=self.strides[number],
            dilation=self.dilation_rate[number],
        )

    def call(self, inputs):
        sizes = array_ops.shape(inputs)
        output = [sizes[0]] + [None] * (self.rank + 1)
        output[self._channel_axis] = self.filters
        lengths = [sizes[axis] for axis in self._spatial]
        for number, axis in enumerate(self._spatial):
            output[axis] = self._output_length(lengths[number], number)
        is_first = self.data_format == _FIRST
        strides = (1, 1) + self.strides if is_first else (1,) + self.strides + (1,)
        output_shape = array_ops.stack(output)
        if self.rank == 2:
            output_shape[0]  # a node that TensorFlow's layer has, too: ops take their seeds from the count
        if any(rate > 1 for rate in self.dilation_rate):
            outputs = backend.conv2d_transpose(
                inputs,
                self.kernel,
                output_shape,
                self.strides,
                self.padding,
                self.data_format,
                self.dilation_rate,
            )
        else:
            outputs = type(self)._function(
                inputs,
                self.kernel,
                output_shape,
                strides,
                padding=self.padding.upper(),
                data_format=conv_utils.convert_data_format(self.data_format, self.rank + 2),
            )
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return self._finish(outputs)

    def compute_output_shape(self, input_shape):
        sizes = tensor_shape.TensorShape(input_shape).as_list()
        sizes[self._channel_axis] = self.filters
        for number, axis in enumerate(self._spatial):
            sizes[axis] = self._output_length(sizes[axis], number)
        return tensor_shape.TensorShape(sizes)

    def get_config(self):
        return {**super().get_config(), "output_padding": self.output_padding}


@keras_export("keras.layers.Conv2DTranspose", "keras.layers.Convolution2DTranspose")
class Conv2DTranspose(_ConvTranspose, Conv2D):
    _function = staticmethod(nn_ops.conv2d_transpose)

    @generic_utils.shows_parameters(Conv)
    def __init__(
        self,
        filters,
        kernel_size,
        strides=(1, 1),
        padding="valid",
        output_padding=None,
        data_format=None,
        dilation_rate=(1, 1),
        *args,
        **kwargs,
    ):
        super().__init__(filters, kernel_size, strides, padding, data_format, dilation_rate, *args, **kwargs)
        self._init_transpose(output_padding)


@keras_export("keras.layers.Conv3DTranspose", "keras.layers.Convolution3DTranspose")
class Conv3DTranspose(_ConvTranspose, Conv3D):
    _function = staticmethod(nn_ops.conv3d_transpose)

    @generic_utils.shows_parameters(Conv, without=("dilation_rate",))
    def __init__(
        self,
        filters,
        kernel_size,
        strides=(1, 1, 1),
        padding="valid",
        output_padding=None,
        data_format=None,
        activation=None,
        *args,
        **kwargs,
    ):
        rate = kwargs.pop("dilation_rate", 1)  # of settings
        super().__init__(
            filters, kernel_size, strides, padding, data_format, rate, activation, *args, **kwargs
        )
        self._init_transpose(output_padding)


class SeparableConv(Conv):
    """A convolution of each channel by itself, then one of the channels at each place (Chollet 2016)."""

    def __init__(
        self,
        rank,
        filters,
        kernel_size,
        strides=1,
        padding="valid",
        data_format=None,
        dilation_rate=1,
        depth_multiplier=1,
        activation=None,
        use_bias=True,
        depthwise_initializer="glorot_uniform",
        pointwise_initializer="glorot_uniform",
        bias_initializer="zeros",
        depthwise_regularizer=None,
        pointwise_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        depthwise_constraint=None,
        pointwise_constraint=None,
        bias_constraint=None,
        trainable=True,
        name=None,
        **kwargs,
    ):
        super().__init__(
            rank=rank,
            filters=filters,
            kernel_size=kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format,
            dilation_rate=dilation_rate,
            activation=activation,
            use_bias=use_bias,
            bias_initializer=bias_initializer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            bias_constraint=bias_constraint,
            trainable=trainable,
            name=name,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializers.get(depthwise_initializer)
        self.pointwise_initializer = initializers.get(pointwise_initializer)
        self.depthwise_regularizer = regularizers.get(depthwise_regularizer)
        self.pointwise_regularizer = regularizers.get(pointwise_regularizer)
        self.depthwise_constraint = constraints.get(depthwise_constraint)
        self.pointwise_constraint = constraints.get(pointwise_constraint)

    def build(self, input_shape):
        channels = self._channels(input_shape)
        self.depthwise_kernel = self.add_weight(
            name="depthwise_kernel",
            shape=self.kernel_size + (channels, self.depth_multiplier),
            initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
            trainable=True,
            dtype=self.dtype,
        )
        self.pointwise_kernel = self.add_weight(
            name="pointwise_kernel",
            shape=(1,) * self.rank + (self.depth_multiplier * channels, self.filters),
            initializer=self.pointwise_initializer,
            regularizer=self.pointwise_regularizer,
            constraint=self.pointwise_constraint,
            trainable=True,
            dtype=self.dtype,
        )
        self._add_bias()
        self.built = True

    def get_config(self):
        config = super().get_config()
        for key in ("kernel_initializer", "kernel_regularizer", "kernel_constraint"):
            del config[key]
        config.update(
            {
                "depth_multiplier": self.depth_multiplier,
                "depthwise_initializer": initializers.serialize(self.depthwise_initializer),
                "pointwise_initializer": initializers.serialize(self.pointwise_initializer),
                "depthwise_regularizer": regularizers.serialize(self.depthwise_regularizer),
                "pointwise_regularizer": regularizers.serialize(self.pointwise_regularizer),
                "depthwise_constraint": constraints.serialize(self.depthwise_constraint),
                "pointwise_constraint": constraints.serialize(self.pointwise_constraint),
            }
        )
        return config


@keras_export("keras.layers.SeparableConv1D", "keras.layers.SeparableConvolution1D")
class SeparableConv1D(SeparableConv):
    """Done on images one high."""

    @generic_utils.shows_parameters(SeparableConv)
    def __init__(self, filters, kernel_size, strides=1, padding="valid", data_format=None, *args, **kwargs):
        super().__init__(1, filters, kernel_size, strides, padding, data_format, *args, **kwargs)

    def call(self, inputs):
        if self.padding == "causal":
            inputs = array_ops.pad(inputs, self._compute_causal_padding())
        is_last = self.data_format == _LAST
        axis = 1 if is_last else 2
        strides = (1,) + self.strides * 2 + (1,) if is_last else (1, 1) + self.strides * 2
        outputs = nn_impl.separable_conv2d(
            array_ops.expand_dims(inputs, axis),
            array_ops.expand_dims(self.depthwise_kernel, 0),
            array_ops.expand_dims(self.pointwise_kernel, 0),
            strides=strides,
            padding="VALID" if self.padding == "causal" else self.padding.upper(),
            rate=(1,) + self.dilation_rate,
            data_format=conv_utils.convert_data_format(self.data_format, 4),
        )
        if self.use_bias:
            layout = conv_utils.convert_data_format(self.data_format, 4)
            outputs = nn_ops.bias_add(outputs, self.bias, data_format=layout)
        outputs = array_ops.squeeze(outputs, [axis])
        return outputs if self.activation is None else self.activation(outputs)


@keras_export("keras.layers.SeparableConv2D", "keras.layers.SeparableConvolution2D")
class SeparableConv2D(SeparableConv):
    @generic_utils.shows_parameters(SeparableConv, dilation_rate=(1, 1))
    def __init__(
        self, filters, kernel_size, strides=(1, 1), padding="valid", data_format=None, *args, **kwargs
    ):
        super().__init__(2, filters, kernel_size, strides, padding, data_format, *args, **kwargs)

    def call(self, inputs):
        is_last = self.data_format == _LAST
        outputs = nn_impl.separable_conv2d(
            inputs,
            self.depthwise_kernel,
            self.pointwise_kernel,
            strides=(1,) + self.strides + (1,) if is_last else (1, 1) + self.strides,
            padding=self.padding.upper(),
            rate=self.dilation_rate,
            data_format=conv_utils.convert_data_format(self.data_format, 4),
        )
        return self._finish(outputs)


@keras_export("keras.layers.DepthwiseConv2D")
class DepthwiseConv2D(Conv2D):
    """A convolution of each channel by itself, to `depth_multiplier` channels."""

    def __init__(
        self,
        kernel_size,
        strides=(1, 1),
        padding="valid",
        depth_multiplier=1,
        data_format=None,
        activation=None,
        use_bias=True,
        depthwise_initializer="glorot_uniform",
        bias_initializer="zeros",
        depthwise_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        depthwise_constraint=None,
        bias_constraint=None,
        **kwargs,
    ):
        super().__init__(
            filters=None,
            kernel_size=kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format,
            activation=activation,
            use_bias=use_bias,
            bias_initializer=bias_initializer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            bias_constraint=bias_constraint,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializers.get(depthwise_initializer)
        self.depthwise_regularizer = regularizers.get(depthwise_regularizer)
        self.depthwise_constraint = constraints.get(depthwise_constraint)

    def build(self, input_shape):
        channels = self._channels(input_shape)
        self.depthwise_kernel = self.add_weight(
            name="depthwise_kernel",
            shape=self.kernel_size + (channels, self.depth_multiplier),
            initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
        )
        self.filters = channels * self.depth_multiplier
        self._add_bias()
        self.built = True

    def call(self, inputs):
        is_last = self.data_format == _LAST
        outputs = nn_impl.depthwise_conv2d(
            inputs,
            self.depthwise_kernel,
            strides=(1,) + self.strides + (1,) if is_last else (1, 1) + self.strides,
            padding=self.padding.upper(),
            rate=self.dilation_rate,
            data_format=conv_utils.convert_data_format(self.data_format, 4),
        )
        return self._finish(outputs)

    def get_config(self):
        config = super().get_config()
        for key in ("filters", "kernel_initializer", "kernel_regularizer", "kernel_constraint"):
            del config[key]
        config["depth_multiplier"] = self.depth_multiplier
        config["depthwise_initializer"] = initializers.serialize(self.depthwise_initializer)
        config["depthwise_regularizer"] = regularizers.serialize(self.depthwise_regularizer)
        config["depthwise_constraint"] = constraints.serialize(self.depthwise_constraint)
        return config


class _Padded(Layer):
    """What adds to or takes from the ends of the axes between the batch and the channels."""

    _rank = None
    _argument = None

    def __init__(self, amounts, data_format, **kwargs):
        super().__init__(**kwargs)
        self.data_format = conv_utils.normalize_data_format(data_format)
        if isinstance(amounts, int):
            amounts = ((amounts, amounts),) * self._rank
        elif not hasattr(amounts, "__len__"):
            raise ValueError(f"`{self._argument}` should be an int or a tuple. Found: {amounts}")
        elif self._rank == 1:
            amounts = (conv_utils.normalize_tuple(amounts, 2, self._argument),)
        else:
            if len(amounts) != self._rank:
                raise ValueError(f"`{self._argument}` should have {self._rank} elements. Found: {amounts}")
            amounts = tuple(
                (entry, entry)
                if isinstance(entry, int)
                else conv_utils.normalize_tuple(entry, 2, f"an entry of `{self._argument}`")
                for entry in amounts
            )
        setattr(self, self._argument, amounts if self._rank > 1 else amounts[0])
        self._amounts = amounts
        self.input_spec = InputSpec(ndim=self._rank + 2)

    @property
    def _first(self):
        return 2 if self.data_format == _FIRST else 1

    def get_config(self):
        config = {self._argument: getattr(self, self._argument)}
        if self._rank > 1:
            config["data_format"] = self.data_format
        return {**super().get_config(), **config}


class _ZeroPadding(_Padded):
    _argument = "padding"

    def call(self, inputs):
        paddings = [[0, 0] for _ in range(self._rank + 2)]
        for number, amounts in enumerate(self._amounts):
            paddings[self._first + number] = list(amounts)
        return array_ops.pad(inputs, paddings)

    def compute_output_shape(self, input_shape):
        sizes = tensor_shape.TensorShape(input_shape).as_list()
        for number, (before, after) in enumerate(self._amounts):
            axis = self._first + number
            sizes[axis] = None if sizes[axis] is None else sizes[axis] + before + after
        return tensor_shape.TensorShape(sizes)


class _Cropping(_Padded):
    _argument = "cropping"

    def call(self, inputs):
        index = [slice(None)] * (self._rank + 2)
        for number, (before, after) in enumerate(self._amounts):
            index[self._first + number] = slice(before, -after if after else None)
        return inputs[tuple(index)]

    def compute_output_shape(self, input_shape):
        sizes = tensor_shape.TensorShape(input_shape).as_list()
        for number, (before, after) in enumerate(self._amounts):
            axis = self._first + number
            sizes[axis] = None if sizes[axis] is None else sizes[axis] - before - after
        return tensor_shape.TensorShape(sizes)


@keras_export("keras.layers.ZeroPadding1D")
class ZeroPadding1D(_ZeroPadding):
    _rank = 1

    def __init__(self, padding=1, **kwargs):
        super().__init__(padding, _LAST, **kwargs)


@keras_export("keras.layers.ZeroPadding2D")
class ZeroPadding2D(_ZeroPadding):
    _rank = 2

    def __init__(self, padding=(1, 1), data_format=None, **kwargs):
        super().__init__(padding, data_format, **kwargs)


@keras_export("keras.layers.ZeroPadding3D")
class ZeroPadding3D(_ZeroPadding):
    _rank = 3

    def __init__(self, padding=(1, 1, 1), data_format=None, **kwargs):
        super().__init__(padding, data_format, **kwargs)


@keras_export("keras.layers.Cropping1D")
class Cropping1D(_Cropping):
    _rank = 1

    def __init__(self, cropping=(1, 1), **kwargs):
        super().__init__(cropping, _LAST, **kwargs)


@keras_export("keras.layers.Cropping2D")
class Cropping2D(_Cropping):
    _rank = 2

    def __init__(self, cropping=((0, 0), (0, 0)), data_format=None, **kwargs):
        super().__init__(cropping, data_format, **kwargs)


@keras_export("keras.layers.Cropping3D")
class Cropping3D(_Cropping):
    _rank = 3

    def __init__(self, cropping=((1, 1), (1, 1), (1, 1)), data_format=None, **kwargs):
        super().__init__(cropping, data_format, **kwargs)


class _UpSampling(Layer):
    """Each row, column and plane `size` times."""

    _rank = None

    def __init__(self, size, data_format, **kwargs):
        super().__init__(**kwargs)
        self.data_format = conv_utils.normalize_data_format(data_format)
        self.size = conv_utils.normalize_tuple(size, self._rank, "size")
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def call(self, inputs):
        first = 2 if self.data_format == _FIRST else 1
        for number, times in enumerate(self.size):
            inputs = array_ops.repeat(inputs, times, axis=first + number)
        return inputs

    def compute_output_shape(self, input_shape):
        sizes = tensor_shape.TensorShape(input_shape).as_list()
        first = 2 if self.data_format == _FIRST else 1
        for number, times in enumerate(self.size):
            sizes[first + number] = None if sizes[first + number] is None else times * sizes[first + number]
        return tensor_shape.TensorShape(sizes)

    def get_config(self):
        config = {"size": self.size if self._rank > 1 else self.size[0]}
        if self._rank > 1:
            config["data_format"] = self.data_format
        return {**super().get_config(), **config}


@keras_export("keras.layers.UpSampling1D")
class UpSampling1D(_UpSampling):
    _rank = 1

    def __init__(self, size=2, **kwargs):
        super().__init__(size, _LAST, **kwargs)


@keras_export("keras.layers.UpSampling2D")
class UpSampling2D(_UpSampling):
    """`interpolation` is "nearest" or "bilinear"."""

    _rank = 2

    def __init__(self, size=(2, 2), data_format=None, interpolation="nearest", **kwargs):
        super().__init__(size, data_format, **kwargs)
        if interpolation not in ("nearest", "bilinear"):
            raise ValueError('`interpolation` argument should be one of `"nearest"` or `"bilinear"`.')
        self.interpolation = interpolation

    def call(self, inputs):
        if self.interpolation == "nearest":
            return super().call(inputs)
        from braid.tensorflow.python.ops import image_ops

        is_first = self.data_format == _FIRST
        if is_first:
            inputs = array_ops.transpose(inputs, [0, 2, 3, 1])
        sizes = array_ops.shape(inputs)[1:3] * array_ops.constant(self.size)
        static = self.compute_output_shape(inputs.shape) if not is_first else None
        outputs = image_ops.resize_images_v2(inputs, sizes, method="bilinear")
        if static is not None:
            outputs.set_shape(static)
        return array_ops.transpose(outputs, [0, 3, 1, 2]) if is_first else outputs

    def get_config(self):
        return {**super().get_config(), "interpolation": self.interpolation}


@keras_export("keras.layers.UpSampling3D")
class UpSampling3D(_UpSampling):
    _rank = 3

    def __init__(self, size=(2, 2, 2), data_format=None, **kwargs):
        super().__init__(size, data_format, **kwargs)


Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D
SeparableConvolution1D, SeparableConvolution2D = SeparableConv1D, SeparableConv2D
Convolution2DTranspose, Convolution3DTranspose = Conv2DTranspose, Conv3DTranspose
Deconvolution2D, Deconv2D = Conv2DTranspose, Conv2DTranspose
Deconvolution3D, Deconv3D = Conv3DTranspose, Conv3DTranspose
