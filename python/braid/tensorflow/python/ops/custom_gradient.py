"""Functions whose gradients the program gives (tf.custom_gradient), or that are computed again
(tf.recompute_grad).
"""

import functools

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gradients_impl
from braid.tensorflow.python.ops import op_selector
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util import tf_inspect
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("custom_gradient")
def custom_gradient(f):
    """A decorator: `f` returns its result and the function that makes the gradients of its arguments.

    That function takes the gradients of the results. Where `f` uses resource variables it also takes
    `variables`,
    and returns two lists: of the arguments and of these. Raises TypeError at a call that uses other
    variables.
    """

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        return _graph_mode_decorator(f, *args, **kwargs)

    return decorated


def _variables_used(graph, first, given):
    """The trainable resource variables that nodes from number `first` on take, but not those that are
    arguments.
    """
    handles = {}
    for op in graph.get_operations()[first:]:
        for t in op.inputs:
            if t.dtype == dtypes.resource and id(t) not in handles:
                handles[id(t)] = t
    if not handles:
        return []
    known = []
    for key in (
        ops.GraphKeys.TRAINABLE_VARIABLES,
        ops.GraphKeys.GLOBAL_VARIABLES,
        ops.GraphKeys.LOCAL_VARIABLES,
    ):
        known += [v for v in graph.get_collection(key) if not any(v is k for k in known)]
    return [
        v
        for v in known
        if getattr(v, "trainable", True)
        and id(getattr(v, "handle", None)) in handles
        and not any(v is x or v.handle is x for x in given)
    ]


def get_variable_by_name(var_name):
    """The trainable global variable of a name; None: it is not trainable. ValueError: there is none."""
    found = ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES, scope=f"{var_name}:0")
    if not found:
        raise ValueError(f"Unsuccessful at finding variable {var_name}.")
    found = [v for v in found if v.trainable]
    if len(found) > 1:
        raise ValueError(f"Unsuccessful at finding trainable variable {var_name}. Candidates: {found}")
    return found[0] if found else None


def get_dependent_variables(input_ops, output_ops):
    """The trainable variables that the outputs' gradients lead to without passing the inputs."""
    # Nodes of their own behind the outputs, which may be the inputs.
    outputs = [array_ops.identity(t) for t in nest.flatten(output_ops)]
    between = op_selector.get_backward_walk_ops(
        outputs, inclusive=False, stop_at_ts=nest.flatten(input_ops), only_differentiable=True
    )
    found = [get_variable_by_name(op.name) for op in between if op.type in _VARIABLE_TYPES]
    return [v for v in found if v is not None]


_VARIABLE_TYPES = ("Variable", "VariableV2", "VarHandleOp")


def _scope_variables():
    scope = variable_scope.get_variable_scope()
    return scope.global_variables() + scope.local_variables()


def _graph_mode_decorator(f, *args, **kwargs):
    if kwargs:
        raise ValueError(
            "The custom_gradient decorator currently supports keywords arguments only when eager execution is enabled."
        )
    graph = ops.get_default_graph()
    name = "CustomGradient-%s" % ops.uid()
    given = args
    args = [ops.convert_to_tensor(x) for x in args]
    before = _scope_variables()
    first = len(graph.get_operations())
    result, grad_fn = f(*args)
    for v in _scope_variables():
        if any(v is b for b in before):
            continue
        if not isinstance(getattr(v, "handle", None), ops.Tensor):
            raise TypeError(
                "All variables used by a function wrapped with @custom_gradient must be `ResourceVariable`s. Ensure "
                "that no `variable_scope` is created with `use_resource=False`."
            )
    variables = _variables_used(graph, first, given)
    spec = tf_inspect.getfullargspec(grad_fn)
    takes_variables = "variables" in spec.args + spec.kwonlyargs or bool(spec.varkw)
    if variables and not takes_variables:
        raise TypeError(
            "If using @custom_gradient with a function that uses variables, then grad_fn must accept a 'variables' "
            "keyword argument."
        )
    if takes_variables and not variables:
        logging.warn(
            "@custom_gradient grad_fn has 'variables' in signature, but no ResourceVariables were used on the "
            "forward pass."
        )
    results = nest.flatten(result)

    @ops.RegisterGradient(name)
    def gradient(unused_op, *result_grads):
        grads = nest.flatten(nest.pack_sequence_as(result, list(result_grads[: len(results)])))
        of_variables = []
        if variables:
            of_args, of_variables = grad_fn(*grads, variables=variables)
            if len(of_variables) != len(variables):
                raise ValueError("Must return gradient for each variable from @custom_gradient grad_fn.")
        else:
            of_args = grad_fn(*grads)
        # The node passes results, arguments and variables: nothing flows to the results themselves.
        return [None] * len(results) + nest.flatten(of_args) + list(of_variables)

    with graph.gradient_override_map({"IdentityN": name}):
        passed = array_ops.identity_n(results + args + variables)
    return nest.pack_sequence_as(result, list(passed)[: len(results)])


@tf_export("recompute_grad")
def recompute_grad(f):
    """A function as `f` that keeps nothing for its gradients: these compute it again."""

    @custom_gradient
    def inner(*args):
        result = f(*args)

        def grad(*dresult, variables=None):
            variables = list(variables or [])
            with ops.control_dependencies(list(dresult)):
                copies = [array_ops.identity(x) for x in args]
                with variable_scope.variable_scope(variable_scope.get_variable_scope(), reuse=True):
                    again = nest.flatten(f(*copies))
            grads = gradients_impl.gradients(again, copies + variables, grad_ys=list(dresult))
            of_args = grads[: len(args)]
            return (of_args, grads[len(args) :]) if variables else of_args

        return result, grad

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        if kwargs:
            raise ValueError("recompute_grad: keyword arguments are not supported; bind them first")
        return inner(*args)

    return decorated


@tf_export("grad_pass_through")
def grad_pass_through(f):
    """f, with the gradient of the identity."""

    @custom_gradient
    def passing(*args, **kwargs):
        def grad(*grads, variables=None):
            given = grads[0] if len(grads) == 1 else grads
            return given if variables is None else (given, [None] * len(variables))

        return f(*args, **kwargs), grad

    return functools.wraps(f)(passing)
