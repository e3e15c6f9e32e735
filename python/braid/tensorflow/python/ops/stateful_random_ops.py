"""Generators of random numbers whose state is a variable."""

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_stateful_random_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.training.tracking import tracking
from braid.tensorflow.python.util.tf_export import tf_export

RNG_ALG_PHILOX = 1
RNG_ALG_THREEFRY = 2
DEFAULT_ALGORITHM = RNG_ALG_PHILOX
# The state of an algorithm: its counter and, at the end, its key, numbers of 64 bits.
PHILOX_STATE_SIZE = 3
THREEFRY_STATE_SIZE = 2
_STATE_SIZES = {RNG_ALG_PHILOX: PHILOX_STATE_SIZE, RNG_ALG_THREEFRY: THREEFRY_STATE_SIZE}


def _state_size(alg):
    if alg not in _STATE_SIZES:
        raise ValueError(f"Unsupported algorithm id: {alg}")
    return _STATE_SIZES[alg]


def _uint_to_int(number):
    """A number below 2**64 as one of 64 bits with a sign."""
    return number - 2**64 if number >= 2**63 else number


@tf_export("random.experimental.create_rng_state")
def create_rng_state(seed, algorithm):
    """The state for a seed, an int (its lowest 64 bits first) or a list of ints, as an array."""
    size = _state_size(algorithm)
    if isinstance(seed, int):
        seed = [(seed >> (64 * i)) & (2**64 - 1) for i in range(size)]
    state = np.asarray([_uint_to_int(s) for s in seed], dtype=np.int64)
    if state.ndim != 1:
        raise ValueError(f"seed should only have one dimension; got shape: {state.shape}")
    state = state[:size]
    return np.pad(state, [(size - len(state), 0)], mode="constant")


def non_deterministic_ints(shape, dtype=dtypes.int64):
    """Numbers that are others each time."""
    return gen_stateful_random_ops.non_deterministic_ints(shape=shape, dtype=dtype)


def _as_state(value):
    value = [_uint_to_int(v) for v in value] if isinstance(value, list) else value
    return ops.convert_to_tensor(value, dtype=dtypes.int64)


def _as_shape(shape):
    empty = isinstance(shape, (tuple, list)) and not shape
    return ops.convert_to_tensor(shape, dtype=dtypes.int64 if empty else None, name="shape")


@tf_export("random.experimental.Generator")
class Generator(tracking.AutoTrackable):
    """A generator: its methods are ops that take numbers and change the state.

    alg: 1 for Philox, 2 for ThreeFry. The state is a variable, which the program initializes.
    """

    def __init__(self, copy_from=None, state=None, alg=None):
        if copy_from is not None:
            assert alg is None and state is None
            state, alg = copy_from.state.initialized_value(), copy_from.algorithm
        assert alg is not None and state is not None
        state = _as_state(state)
        state.shape.assert_is_compatible_with([_state_size(alg)])
        self._alg = alg
        self._state_var = variable_scope.variable(
            state, dtype=dtypes.int64, trainable=False, use_resource=True, name="Variable"
        )

    @classmethod
    def from_state(cls, state, alg):
        return cls(alg=alg, state=state)

    @classmethod
    def from_seed(cls, seed, alg=None):
        alg = DEFAULT_ALGORITHM if alg is None else alg
        return cls(state=create_rng_state(seed, alg), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg=None):
        alg = DEFAULT_ALGORITHM if alg is None else alg
        return cls(state=non_deterministic_ints([_state_size(alg)]), alg=alg)

    @classmethod
    def from_key_counter(cls, key, counter, alg):
        return cls(state=cls._joined(key, counter, alg), alg=alg)

    @staticmethod
    def _joined(key, counter, alg):
        counter, key = _as_state(counter), _as_state(key)
        counter.shape.assert_is_compatible_with([_state_size(alg) - 1])
        key.shape.assert_is_compatible_with([])
        return array_ops.concat([counter, array_ops.reshape(key, [1])], 0)

    @property
    def state(self):
        """The variable."""
        return self._state_var

    @property
    def algorithm(self):
        return self._alg

    @property
    def key(self):
        return self._state_var[-1]

    def reset(self, state):
        """An op that sets the state."""
        state = _as_state(state)
        state.shape.assert_is_compatible_with([_state_size(self._alg)])
        return self._state_var.assign(state)

    def reset_from_seed(self, seed):
        return self.reset(create_rng_state(seed, self._alg))

    def reset_from_key_counter(self, key, counter):
        return self.reset(self._joined(key, counter, self._alg))

    def skip(self, delta):
        """An op that leaves out what delta numbers take."""
        return gen_stateful_random_ops.rng_skip(
            self._state_var.handle, ops.convert_to_tensor(self._alg, dtypes.int64), delta
        )

    def _draw(self, op, shape, **kwargs):
        alg = ops.convert_to_tensor(self._alg, dtypes.int64)
        return op(self._state_var.handle, alg, shape=_as_shape(shape), **kwargs)

    def _moved(self, numbers, factor, offset, name):
        factor = ops.convert_to_tensor(factor, dtype=numbers.dtype)
        return math_ops.add(numbers * factor, ops.convert_to_tensor(offset, dtype=numbers.dtype), name=name)

    def normal(self, shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
        with ops.name_scope(name, "stateful_normal", [shape, mean, stddev]) as name:
            numbers = self._draw(gen_stateful_random_ops.stateful_standard_normal_v2, shape, dtype=dtype)
            return self._moved(numbers, stddev, mean, name)

    def truncated_normal(self, shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
        """Normal numbers within two deviations of the mean."""
        with ops.name_scope(name, "truncated_normal", [shape, mean, stddev]) as name:
            numbers = self._draw(gen_stateful_random_ops.stateful_truncated_normal, shape, dtype=dtype)
            return self._moved(numbers, stddev, mean, name)

    def uniform(self, shape, minval=0, maxval=None, dtype=dtypes.float32, name=None):
        """Numbers from minval on and below maxval, which integers need and is 1 for others."""
        dtype = dtypes.as_dtype(dtype)
        if maxval is None:
            if dtype.is_integer:
                raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
            maxval = 1
        with ops.name_scope(name, "stateful_uniform", [shape, minval, maxval]) as name:
            minval = ops.convert_to_tensor(minval, dtype=dtype, name="min")
            maxval = ops.convert_to_tensor(maxval, dtype=dtype, name="max")
            if dtype.is_integer:
                op = gen_stateful_random_ops.stateful_uniform_int
                return self._draw(op, shape, minval=minval, maxval=maxval, name=name)
            numbers = self._draw(gen_stateful_random_ops.stateful_uniform, shape, dtype=dtype)
            return self._moved(numbers, maxval - minval, minval, name)

    def uniform_full_int(self, shape, dtype=dtypes.uint64, name=None):
        """Integers, all that the type has."""
        with ops.name_scope(name, "stateful_uniform_full_int", [shape]) as name:
            op = gen_stateful_random_ops.stateful_uniform_full_int
            return self._draw(op, shape, dtype=dtypes.as_dtype(dtype), name=name)

    def binomial(self, shape, counts, probs, dtype=dtypes.int32, name=None):
        """The number of successes in `counts` trials of probability `probs`."""
        with ops.name_scope(name, "binomial", [shape, counts, probs]) as name:
            probs = ops.convert_to_tensor(probs, name="probs")
            return self._draw(
                gen_stateful_random_ops.stateful_random_binomial,
                shape,
                counts=ops.convert_to_tensor(counts, dtype=probs.dtype, name="counts"),
                probs=probs,
                dtype=dtypes.as_dtype(dtype),
                name=name,
            )

    def make_seeds(self, count=1):
        """Seeds for the functions of tf.random.stateless_*, [2, count]."""
        keys = self.uniform_full_int(shape=[count], dtype=dtypes.int64)
        return array_ops.stack([keys, array_ops.zeros_like(keys)])

    def split(self, count=1):
        """Generators with keys that this one draws."""
        keys = self.uniform_full_int(shape=[count], dtype=dtypes.int64)
        zeros = array_ops.zeros([_state_size(self._alg) - 1], dtypes.int64)
        return [
            Generator(state=array_ops.concat([zeros, key[None]], 0), alg=self._alg)
            for key in array_ops.unstack(keys)
        ]


@tf_export("random.experimental.get_global_generator")
def get_global_generator():
    """The generator of the graph, made at the first call from a state that is another each time."""
    graph = ops.get_default_graph()
    if graph._global_generator is None:
        graph._global_generator = Generator.from_non_deterministic_state()
    return graph._global_generator


@tf_export("random.experimental.set_global_generator")
def set_global_generator(generator):
    ops.get_default_graph()._global_generator = generator
