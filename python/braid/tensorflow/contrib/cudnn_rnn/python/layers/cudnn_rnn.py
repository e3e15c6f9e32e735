"""Layers of cuDNN's networks: one variable has all weights, checkpoints those of TensorFlow's cells."""

from braid.tensorflow.contrib.cudnn_rnn.python.ops import cudnn_rnn_ops
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras.engine import input_spec
from braid.tensorflow.python.layers import base as base_layer
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import variable_scope as vs
from braid.tensorflow.python.platform import tf_logging as logging

CUDNN_RNN_UNIDIRECTION = cudnn_rnn_ops.CUDNN_RNN_UNIDIRECTION
CUDNN_RNN_BIDIRECTION = cudnn_rnn_ops.CUDNN_RNN_BIDIRECTION
CUDNN_LSTM = cudnn_rnn_ops.CUDNN_LSTM
CUDNN_GRU = cudnn_rnn_ops.CUDNN_GRU
CUDNN_RNN_RELU = cudnn_rnn_ops.CUDNN_RNN_RELU
CUDNN_RNN_TANH = cudnn_rnn_ops.CUDNN_RNN_TANH
CUDNN_LSTM_PARAMS_PER_LAYER = cudnn_rnn_ops.CUDNN_LSTM_PARAMS_PER_LAYER
CUDNN_GRU_PARAMS_PER_LAYER = cudnn_rnn_ops.CUDNN_GRU_PARAMS_PER_LAYER
CUDNN_RNN_TANH_PARAMS_PER_LAYER = cudnn_rnn_ops.CUDNN_RNN_TANH_PARAMS_PER_LAYER
CUDNN_RNN_RELU_PARAMS_PER_LAYER = cudnn_rnn_ops.CUDNN_RNN_RELU_PARAMS_PER_LAYER
CUDNN_INPUT_LINEAR_MODE = cudnn_rnn_ops.CUDNN_INPUT_LINEAR_MODE
CUDNN_INPUT_SKIP_MODE = cudnn_rnn_ops.CUDNN_INPUT_SKIP_MODE
CUDNN_INPUT_AUTO_MODE = cudnn_rnn_ops.CUDNN_INPUT_AUTO_MODE

__all__ = ["CudnnLSTM", "CudnnGRU", "CudnnRNNTanh", "CudnnRNNRelu"]


class _CudnnRNN(base_layer.Layer):
    """The base of the layers. A subclass has the kind of its cells and the class of its saveable."""

    _rnn_mode = _num_params_per_layer = _saveable_cls = None

    def __init__(
        self,
        num_layers,
        num_units,
        input_mode=CUDNN_INPUT_LINEAR_MODE,
        direction=CUDNN_RNN_UNIDIRECTION,
        dropout=0.0,
        seed=None,
        dtype=dtypes.float32,
        kernel_initializer=None,
        bias_initializer=None,
        name=None,
    ):
        """input_mode: "skip_input" adds the inputs, of `num_units` elements, to the gates of the first layer,
        without a product; "auto_select" does so where it is possible. direction: or "bidirectional".
        dropout: the rate between layers, in training. dtype: float16, float32 or float64.
        kernel_initializer, bias_initializer: Glorot's uniform one and zeros by default.
        """
        super().__init__(dtype=dtype, name=name)
        cudnn_rnn_ops.check_direction(direction)
        cudnn_rnn_ops.check_input_mode(input_mode)
        if dtype not in (dtypes.float16, dtypes.float32, dtypes.float64):
            raise ValueError(f"Only support float16, float32, float64, provided {dtype}")
        self._plain_dtype = dtypes.as_dtype(dtype)
        self._num_layers, self._num_units, self._input_mode = num_layers, num_units, input_mode
        self._direction, self._dropout, self._seed = direction, dropout, seed
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer
        self._input_size = self._saveable = None

    num_layers = property(lambda self: self._num_layers)
    num_units = property(lambda self: self._num_units)
    input_mode = property(lambda self: self._input_mode)
    rnn_mode = property(lambda self: self._rnn_mode)
    direction = property(lambda self: self._direction)
    num_dirs = property(lambda self: 1 if self._direction == CUDNN_RNN_UNIDIRECTION else 2)
    saveable = property(lambda self: self._saveable)

    @property
    def input_size(self):
        if not self._input_size:
            raise ValueError("'input_size' is unknown since layer has not been built.")
        return self._input_size

    @property
    def canonical_weight_shapes(self):
        """The shapes of the weights in cuDNN's canonical form."""
        if not self._input_size:
            raise RuntimeError(
                f"{type(self).__name__}.canonical_weight_shapes invoked before input shape is known"
            )
        return [shape for layer in range(self._num_layers) for shape in self._canonical_weight_shape(layer)]

    @property
    def canonical_bias_shapes(self):
        """The shapes of the biases in cuDNN's canonical form."""
        return self._canonical_bias_shape(0) * self._num_layers

    def build(self, input_shape):
        """Makes the variable "opaque_kernel" and the saveable, for inputs [time, batch, depth]."""
        if self.built:
            return
        input_shape = tensor_shape.TensorShape(input_shape)
        if input_shape.ndims != 3:
            raise ValueError(f"Expecting input_shape with 3 dims, got {input_shape.ndims}")
        depth = tensor_shape.dimension_value(input_shape[-1])
        if depth is None:
            raise ValueError(
                "The last dimension of the inputs to `CudnnRNN` should be defined. Found `None`."
            )
        self._input_size = depth
        self.input_spec = input_spec.InputSpec(ndim=3, axes={-1: depth})
        self._set_scope(None)
        with vs.variable_scope(self._scope, reuse=self.built):
            if self._kernel_initializer is None:
                self._kernel_initializer = init_ops.glorot_uniform_initializer(
                    seed=self._seed, dtype=self._plain_dtype
                )
            if self._bias_initializer is None:
                self._bias_initializer = init_ops.constant_initializer(0.0, dtype=self._plain_dtype)
            weights = [
                self._kernel_initializer(shape, dtype=self._plain_dtype)
                for shape in self.canonical_weight_shapes
            ]
            biases = [
                self._bias_initializer(shape, dtype=self._plain_dtype) for shape in self.canonical_bias_shapes
            ]
            opaque = self._canonical_to_opaque(weights, biases)
            if vs.get_variable_scope().partitioner is not None:
                logging.warn(
                    "Partitioner is not supported for Cudnn RNN layer variables, using it will create "
                    "forward-compatibility issues with future CUDA/CuDNN generations."
                )
            self.kernel = vs.get_variable(
                "opaque_kernel", dtype=self._plain_dtype, initializer=opaque, validate_shape=False
            )
        # In the scope of the caller: cells that are called there have the variables of these names.
        if not (self.built or vs.get_variable_scope().reuse is True):
            self._create_saveable()
        self.built = True

    def _gather_saveables_for_checkpoint(self):
        raise NotImplementedError(
            "tf.train.Checkpoint does not save this layer: tf.train.Saver writes the weights of its cells"
        )

    def call(self, inputs, initial_state=None, sequence_lengths=None, time_major=True, training=True):
        """(outputs, states): outputs [time, batch, num_dirs * num_units], and (h, c) or (h,).

        initial_state: a tuple, each [num_layers * num_dirs, batch, num_units]; zeros by default.
        sequence_lengths: [batch]: later outputs are zero, and the states are those of the last steps.
        time_major: False: [batch, time, depth] and [batch, num_layers * num_dirs, num_units].
        """
        if initial_state is not None and not isinstance(initial_state, tuple):
            raise TypeError(f"Invalid initial_state type: {initial_state}, expecting tuple.")
        dtype = self._plain_dtype
        inputs = ops.convert_to_tensor(inputs, dtype=dtype)
        if initial_state is None:
            batch = inputs.get_shape().with_rank(3).dims[1 if time_major else 0].value
            if batch is None:
                batch = array_ops.shape(inputs)[1 if time_major else 0]
            initial_state = self._zero_state(batch)
            if not time_major:
                initial_state = tuple(array_ops.transpose(state, [1, 0, 2]) for state in initial_state)
        if self._rnn_mode == CUDNN_LSTM:
            h, c = initial_state
        else:
            (h,), c = initial_state, None
        outputs, states = self._forward(inputs, h, c, self.kernel, sequence_lengths, time_major, training)
        return outputs, states if self._rnn_mode == CUDNN_LSTM else states[:1]

    def state_shape(self, batch_size):
        raise NotImplementedError

    def _zero_state(self, batch_size):
        return tuple(
            array_ops.zeros(shape, dtype=self._plain_dtype) for shape in self.state_shape(batch_size)
        )

    def _canonical_weight_shape(self, layer):
        if layer < 0 or layer >= self._num_layers:
            raise ValueError(f"'layer' is not valid, got {layer}, expecting [0, {self._num_layers - 1}]")
        if not self._input_size:
            raise RuntimeError(
                f"{type(self).__name__}._canonical_weight_shape invoked before input shape is known"
            )
        units, gates = self._num_units, self._num_params_per_layer // 2
        depth = self._input_size if layer == 0 else self.num_dirs * units
        return ([(units, depth)] * gates + [(units, units)] * gates) * self.num_dirs

    def _canonical_bias_shape(self, unused_layer):
        return [[self._num_units]] * self.num_dirs * self._num_params_per_layer

    def _network(self):
        return {
            "rnn_mode": self._rnn_mode,
            "num_layers": self._num_layers,
            "num_units": self._num_units,
            "input_size": self._input_size,
            "input_mode": self._input_mode,
            "direction": self._direction,
        }

    def _canonical_to_opaque(self, cu_weights, cu_biases):
        if not self._input_size:
            raise RuntimeError(
                f"{type(self).__name__}._canonical_to_opaque invoked before input shape is known"
            )
        return cudnn_rnn_ops.cudnn_rnn_canonical_to_opaque_params(
            weights=cu_weights, biases=cu_biases, **self._network()
        )

    def _forward(self, inputs, h, c, opaque_params, sequence_lengths, time_major, training):
        output, output_h, output_c = cudnn_rnn_ops._cudnn_rnn(
            inputs,
            h,
            c,
            opaque_params,
            training,
            self._rnn_mode,
            sequence_lengths=sequence_lengths,
            time_major=time_major,
            input_mode=self._input_mode,
            direction=self._direction,
            dropout=self._dropout,
            seed=self._seed,
            network=cudnn_rnn_ops._Network(**self._network()),
        )
        return output, (output_h, output_c)

    def _create_saveable(self):
        """RuntimeError: there is one already."""
        if self._saveable is not None:
            raise RuntimeError("Cudnn saveable already created.")
        self._saveable = self._saveable_cls(
            opaque_params=self.kernel,
            num_layers=self.num_layers,
            num_units=self.num_units,
            input_size=self.input_size,
            input_mode=self.input_mode,
            direction=self.direction,
            scope=vs.get_variable_scope(),
            name=f"{self.kernel.name.split(':')[0]}_saveable",
        )
        ops.add_to_collection(ops.GraphKeys.SAVEABLE_OBJECTS, self._saveable)


class CudnnLSTM(_CudnnRNN):
    """cuDNN's LSTM, computed on any device."""

    _rnn_mode = CUDNN_LSTM
    _num_params_per_layer = CUDNN_LSTM_PARAMS_PER_LAYER
    _saveable_cls = cudnn_rnn_ops.CudnnLSTMSaveable

    def state_shape(self, batch_size):
        """The shapes of h and c."""
        return ([self.num_layers * self.num_dirs, batch_size, self.num_units],) * 2


class _CudnnRNNNoInputC(_CudnnRNN):
    """The base of layers whose cells have one state."""

    def state_shape(self, batch_size):
        """(the shape of h,)."""
        return ([self.num_layers * self.num_dirs, batch_size, self.num_units],)


class CudnnGRU(_CudnnRNNNoInputC):
    """cuDNN's GRU, computed on any device."""

    _rnn_mode = CUDNN_GRU
    _num_params_per_layer = CUDNN_GRU_PARAMS_PER_LAYER
    _saveable_cls = cudnn_rnn_ops.CudnnGRUSaveable


class CudnnRNNTanh(_CudnnRNNNoInputC):
    """cuDNN's plain cells with tanh, computed on any device."""

    _rnn_mode = CUDNN_RNN_TANH
    _num_params_per_layer = CUDNN_RNN_TANH_PARAMS_PER_LAYER
    _saveable_cls = cudnn_rnn_ops.CudnnRNNTanhSaveable


class CudnnRNNRelu(_CudnnRNNNoInputC):
    """cuDNN's plain cells with relu, computed on any device."""

    _rnn_mode = CUDNN_RNN_RELU
    _num_params_per_layer = CUDNN_RNN_RELU_PARAMS_PER_LAYER
    _saveable_cls = cudnn_rnn_ops.CudnnRNNReluSaveable
