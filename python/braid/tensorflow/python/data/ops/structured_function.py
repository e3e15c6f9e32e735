"""Functions of elements: Python functions as functions of the graph's library."""

import warnings

from braid.tensorflow.python.autograph.core import ag_ctx
from braid.tensorflow.python.data.util import nest
from braid.tensorflow.python.data.util import structure
from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.framework import function
from braid.tensorflow.python.framework import ops


class StructuredFunctionWrapper:
    """A Python function of elements as one of the graph's library.

    Args:
      func: of an element; a tuple's parts are its arguments.
      transformation_name: what uses it, for messages.
      dataset: whose elements it takes; or
      input_structure: their TypeSpecs.
    """

    def __init__(
        self,
        func,
        transformation_name,
        dataset=None,
        input_structure=None,
        add_to_graph=True,
        use_legacy_function=False,
        defun_kwargs=None,
    ):
        del defun_kwargs
        self._func = func
        self._autograph = ag_ctx.control_status_ctx()
        self._input_structure = dataset.element_spec if input_structure is None else input_structure
        self._transformation_name = transformation_name
        self._output_structure = None
        specs = structure.flat_tensor_specs(self._input_structure)
        name = "_".join(
            ["Dataset", transformation_name.replace("()", "").split(".")[-1], function._get_func_name(func)]
        )
        tables = len(ops.get_collection(ops.GraphKeys.TABLE_INITIALIZERS))
        self._function = _ElementFunction(self._call, specs, f"{name}_{ops.uid()}", use_legacy_function)
        if add_to_graph:
            self._function.add_to_graph(ops.get_default_graph())
        self._warn_of_seed(name)
        if len(ops.get_collection(ops.GraphKeys.TABLE_INITIALIZERS)) > tables:
            warnings.warn(
                f"Creating resources inside a function passed to {transformation_name} is not supported. Create each "
                "resource outside the function, and capture it inside the function to use it.",
                stacklevel=4,
            )

    def _warn_of_seed(self, name):
        outer, inner = ops.get_default_graph(), self._function.graph
        if outer.seed and inner.seed == outer.seed and inner._seed_used:
            warnings.warn(
                f"Seed {outer.seed} from outer graph might be getting used by function {name}, if the random op has "
                "not been provided any seed. Explicitly set the seed in the function if this is not the intended "
                "behavior.",
                stacklevel=4,
            )

    def _call(self, *tensors):
        from braid.tensorflow.python.autograph.impl import api

        element = structure.from_tensor_list(self._input_structure, tensors)
        func = api.tf_convert(self._func, self._autograph)
        result = func(*element) if type(element) is tuple else func(element)
        if isinstance(result, list):
            result = tuple(result)  # or its parts would become one tensor
        try:
            result = structure.normalize_element(result)
            self._output_structure = structure.type_spec_from_value(result)
        except (ValueError, TypeError) as error:
            raise TypeError(
                f"Unsupported return value from function passed to {self._transformation_name}: {result}."
            ) from error
        return structure.to_tensor_list(self._output_structure, result)

    @property
    def output_structure(self):
        """The TypeSpecs of the result."""
        return self._output_structure

    @property
    def output_types(self):
        return structure.get_legacy_output_types(self._output_structure)

    @property
    def output_shapes(self):
        return structure.get_legacy_output_shapes(self._output_structure)

    @property
    def output_classes(self):
        return structure.get_legacy_output_classes(self._output_structure)

    @property
    def function(self):
        return self._function

    @property
    def captured_inputs(self):
        """The tensors from outside that it uses."""
        return self._function.captured_inputs


class _ElementFunction(function._DefinedFunction):
    """A function of the library whose arguments have static shapes."""

    def __init__(self, func, specs, name, gets_variables_by_value):
        super().__init__(func, [f"args_{i}" for i in range(len(specs))], [s.dtype for s in specs], name)
        self._shapes = [s.shape for s in specs]

        def body(*args):
            ops.get_default_graph()._has_functional_conditionals = True
            return func(*args)

        graph = function.func_graph_from_py_func(
            body,
            [n for n, _ in self._args],
            [t for _, t in self._args],
            name=name,
            arg_shapes=self._shapes,
            capture_resource_var_by_value=gets_variables_by_value,
            collections_ref={k: list(v) for k, v in ops.get_default_graph()._collections.items()},
        )
        self.graph = graph
        self._set_body(graph)


class _CopiedFunction(function._DefinedFunction):
    """A function without arguments whose body has copies of the nodes outside that make a dataset."""

    def __init__(self, func):
        super().__init__(func, [], [], f"_make_dataset_{ops.uid()}", capture_by_value=True)


def _state_function(func, name, dataset, spec, returns_state_only):
    """A function of (state, element) whose results keep the state's types; its shapes are what stays the
    same.

    spec: the TypeSpecs of the first state. Returns those of the state, and the function.
    """
    while True:
        wrapped = StructuredFunctionWrapper(
            func, name, input_structure=(spec, dataset.element_spec), add_to_graph=False
        )
        found = wrapped.output_structure
        if not returns_state_only:
            if not isinstance(found, tuple) or len(found) != 2:
                raise TypeError(
                    "The scan function must return a pair comprising the new state and the output value."
                )
            found = found[0]
        for mine, its in zip(nest.flatten(spec), nest.flatten(found)):
            if mine._to_legacy_output_classes() != its._to_legacy_output_classes():
                raise TypeError(
                    f"The element classes for the new state must match the initial state. Expected {spec}; got {found}."
                )
            if mine._to_legacy_output_types() != its._to_legacy_output_types():
                raise TypeError(
                    f"The element types for the new state must match the initial state. Expected {spec}; got {found}."
                )
        try:
            nest.assert_same_structure(spec, found)
        except (TypeError, ValueError) as error:
            raise errors.InvalidArgumentError(
                None, None, f"The state has another structure: {error}"
            ) from None
        common = structure.most_specific_common(spec, found)
        if common == spec or all(a == b for a, b in zip(nest.flatten(common), nest.flatten(spec))):
            wrapped.function.add_to_graph(ops.get_default_graph())
            return spec, wrapped
        spec = common
