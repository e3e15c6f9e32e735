"""The signatures of an object that tf.saved_model.save writes: named functions of tensors."""

import collections.abc

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.saved_model import restored_functions
from braid.tensorflow.python.saved_model import signature_constants
from braid.tensorflow.python.training.tracking import base
from braid.tensorflow.python.util import nest

DEFAULT_SIGNATURE_ATTR = "_default_save_signature"
SIGNATURE_ATTRIBUTE_NAME = "signatures"


class _SignatureMap(collections.abc.Mapping, base.Trackable):
    """The functions of signatures by their keys; only tf.saved_model.load_v2 makes one."""

    def __init__(self):
        self._signatures = {}

    def _add_signature(self, name, concrete_function):
        self._signatures[name] = concrete_function

    def __getitem__(self, key):
        return self._signatures[key]

    def __iter__(self):
        return iter(self._signatures)

    def __len__(self):
        return len(self._signatures)

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other

    def __repr__(self):
        return f"_SignatureMap({self._signatures})"

    def _list_functions_for_serialization(self, view):
        return dict(self._signatures)


def _concrete(function):
    """The ConcreteFunction that a signature is made of, or None."""
    if isinstance(function, restored_functions.Function) and function.input_signature is not None:
        function = function.get_concrete_function()
    return function if isinstance(function, restored_functions.ConcreteFunction) else None


def _normalized(outputs, function, key):
    """Results as a dict; those of a list are output_0, output_1 and so on. ValueError: they are nested."""
    if isinstance(outputs, collections.abc.Mapping):
        for name, value in outputs.items():
            if not isinstance(value, (ops.Tensor, tensor_spec.TensorSpec)):
                raise ValueError(
                    f"Got a dictionary containing non-Tensor value {value} for key {name} in the output of the "
                    f"function {function.name} used to generate a SavedModel signature. Dictionaries outputs for "
                    "functions used as signatures should have one Tensor output per string key."
                )
        return dict(outputs)
    listed = list(outputs) if isinstance(outputs, collections.abc.Sequence) else [outputs]
    if any(nest.is_sequence(value) or value is None for value in listed):
        raise ValueError(
            f"Got non-flat outputs '{outputs}' from '{function.name}' for SavedModel signature '{key}'. Signatures "
            "have one Tensor per output, so to have predictable names Python functions used to generate these "
            "signatures should avoid outputting Tensors in nested structures."
        )
    return {f"output_{number}": value for number, value in enumerate(listed)}


def find_function_to_export(functions):
    """The function of an object that becomes its signature where none is given, or None."""
    if DEFAULT_SIGNATURE_ATTR in functions:
        return functions[DEFAULT_SIGNATURE_ATTR]
    possible = []
    for function in map(_concrete, functions.values()):
        if function is not None and function.definition.signature.output_arg:
            try:
                _normalized(function.structured_outputs, function, "unused")
            except ValueError:
                continue
            possible.append(function)
    return possible[0] if len(possible) == 1 else None


def canonicalize_signatures(signatures, objects):
    """{key: ConcreteFunction with a dict of results} of what tf.saved_model.save was given."""
    if signatures is None:
        return {}
    if not isinstance(signatures, collections.abc.Mapping):
        signatures = {signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signatures}
    made = {}
    for key, given in signatures.items():
        function = _concrete(given)
        if function is None:
            raise ValueError(
                f"Expected a TensorFlow function to generate a signature for, but got {given}. Only `tf.functions` "
                "with an input signature or concrete functions can be used as a signature."
            )
        made[key] = _as_signature(key, function, objects)
    return made


def _as_signature(key, function, objects):
    count = len(function.definition.signature.input_arg) - len(function.captures)
    flat = nest.flatten(function.structured_input_signature, expand_composites=True)
    known = [spec for spec in flat if isinstance(spec, tensor_spec.TensorSpec)]
    arguments = function.definition.signature.input_arg[:count]
    names = function._arg_keywords or [spec.name or argument.name for spec, argument in zip(known, arguments)]
    specs = [
        tensor_spec.TensorSpec(spec.shape, dtypes.as_dtype(argument.type), name)
        for name, spec, argument in zip(names, known, arguments)
    ]
    if len(set(names)) != len(names):
        raise ValueError(
            f"Got non-flat/non-unique argument names for SavedModel signature '{key}': more than one argument to "
            f"'{function.name}' has one of the names {names}. Use tf.TensorSpec(..., name=...) to provide a name "
            "for a Tensor input."
        )

    def wrapper(*tensors):
        return _normalized(function.call_flat(list(tensors)), function, key)

    order = sorted(range(len(names)), key=lambda number: names[number])  # as flattening a dict gives them
    ordered = [specs[number] for number in order]

    def sorted_wrapper(*tensors):
        given = dict(zip(order, tensors))
        return wrapper(*(given[number] for number in range(len(names))))

    made = restored_functions.trace(
        f"__inference_signature_wrapper_{key}",
        sorted_wrapper,
        ordered,
        objects,
        ((), {spec.name: spec for spec in ordered}),
    )
    made._arg_keywords = [spec.name for spec in ordered]
    made._num_positional_args = 1 if len(ordered) == 1 else 0
    return made
