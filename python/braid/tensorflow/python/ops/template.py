"""tf.make_template: functions whose variables are made at the first call and shared by the others."""

import contextlib
import functools
import inspect
import itertools
import threading
import traceback

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.training.tracking import base as trackable
from braid.tensorflow.python.util.tf_export import tf_export

__all__ = ["make_template"]


@tf_export(v1=["make_template"])
def make_template(name_, func_, create_scope_now_=False, unique_name_=None, custom_getter_=None, **kwargs):
    """`func_` (with `kwargs`) with variables of its own in the scope `name_`, made unique.

    The scope is opened at the first call, or here with `create_scope_now_`. `unique_name_` is the scope's
    name as it is. Variables that the first call has not made are an error in later ones.
    """
    return make_template_internal(
        name_, func_, create_scope_now_, unique_name_, custom_getter_, create_graph_function_=False, **kwargs
    )


def make_template_internal(
    name_,
    func_,
    create_scope_now_=False,
    unique_name_=None,
    custom_getter_=None,
    create_graph_function_=False,
    **kwargs,
):
    if create_graph_function_:
        raise NotImplementedError(
            "make_template_internal(create_graph_function_=True) needs eager execution, which Braid has not"
        )
    if kwargs:
        func_ = functools.partial(func_, **kwargs)
    return Template(
        name_,
        func_,
        create_scope_now=create_scope_now_,
        unique_name=unique_name_,
        custom_getter=custom_getter_,
    )


_calls = threading.local()  # .innermost: what variables belong to now, and the prefix of its scope


@contextlib.contextmanager
def capture_dependencies(made, scope):
    """Variables made within, in a variable scope, become dependencies of `made`, by their names below the
    scope; those of another that is called within become its dependencies, and it one of `made`.
    """
    prefix = f"{scope}/" if scope else ""
    outer = getattr(_calls, "innermost", None)
    if outer is not None and scope.startswith(outer[1]):
        outer[0]._track_trackable(made, name=scope[len(outer[1]) :], overwrite=True)

    def creator(next_creator, **kwargs):
        variable = next_creator(**kwargs)
        name = variable.op.name
        if (
            _calls.innermost[0] is made
            and name.startswith(prefix)
            and isinstance(variable, trackable.Trackable)
        ):
            made._track_trackable(variable, name=name[len(prefix) :], overwrite=True)
        return variable

    _calls.innermost = (made, prefix)
    try:
        with variable_scope.variable_creator_scope(creator):
            yield
    finally:
        _calls.innermost = outer


def _program_stack():
    """The frames of the program that calls this module, the outermost first. No source is read yet."""
    frame = inspect.currentframe()
    while frame.f_back and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return traceback.StackSummary.extract(traceback.walk_stack(frame), lookup_lines=False)[::-1]


class Template(trackable.Trackable):
    """What make_template() returns: call it as the function."""

    def __init__(
        self,
        name,
        func,
        create_scope_now=False,
        unique_name=None,
        custom_getter=None,
        create_graph_function=False,
    ):
        if name is None:
            raise ValueError("name cannot be None.")
        self._func = func
        self._unique_name = unique_name
        self._name = name
        self._custom_getter = custom_getter
        self._variables_created = False
        self._variable_scope = None
        self._stack = _program_stack()
        if create_scope_now:
            with self._new_scope() as scope:
                self._variable_scope = scope

    def _new_scope(self):
        return variable_scope._pure_variable_scope(
            self._unique_name or variable_scope._get_unique_variable_scope(self._name),
            custom_getter=self._custom_getter,
            dtype=None,
        )

    def __call__(self, *args, **kwargs):
        if self._variable_scope is not None:
            # A scope that was opened in advance has the name scope of the first call.
            with variable_scope.variable_scope(self._variable_scope, reuse=self._variables_created):
                return self._call_func(args, kwargs)
        with variable_scope.variable_scope(
            self._unique_name, self._name, custom_getter=self._custom_getter
        ) as scope:
            self._variable_scope = scope
            return self._call_func(args, kwargs)

    def _call_func(self, args, kwargs):
        with capture_dependencies(self, self._variable_scope.name):
            try:
                return self._call_in_scope(args, kwargs)
            except Exception as error:
                error.args = (self._with_definition(*error.args[:1]), *error.args[1:])
                raise

    def _with_definition(self, text=""):
        """The text of an error with the lines where the template was made, without those of the call."""
        made, called = self._stack, _program_stack()
        common = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(made, called)))
        lines = traceback.format_list(made[min(common, len(made) - 1) :])
        return f"{text}\n\noriginally defined at:\n{''.join(lines)}"

    def _call_in_scope(self, args, kwargs):
        before = len(ops.get_collection_ref(ops.GraphKeys.TRAINABLE_VARIABLES))
        result = self._func(*args, **kwargs)
        if not self._variables_created:
            self._variables_created = True
        elif before != len(ops.get_collection_ref(ops.GraphKeys.TRAINABLE_VARIABLES)):
            raise ValueError(
                "Trainable variable created when calling a template after the first time, perhaps you used "
                f"tf.Variable when you meant tf.get_variable: "
                f"{ops.get_collection_ref(ops.GraphKeys.TRAINABLE_VARIABLES)[before:]}"
            )
        return result

    @property
    def name(self):
        return self._name

    @property
    def func(self):
        return self._func

    @property
    def variable_scope(self):
        return self._variable_scope

    @property
    def variable_scope_name(self):
        """The name of the scope with a '/' at the end; None before it is opened."""
        if self._variable_scope is None:
            return None
        name = self._variable_scope.name
        return name if not name or name[-1] == "/" else name + "/"

    def _in_scope(self, key):
        if self._variable_scope is None:
            return []
        return ops.get_collection(key, self.variable_scope_name)

    @property
    def variables(self):
        return self.global_variables + self.local_variables

    @property
    def weights(self):
        return self.variables

    @property
    def trainable_variables(self):
        return self._in_scope(ops.GraphKeys.TRAINABLE_VARIABLES)

    @property
    def trainable_weights(self):
        return self.trainable_variables

    @property
    def non_trainable_variables(self):
        trainable = {id(v) for v in self.trainable_variables}
        return [v for v in self.variables if id(v) not in trainable]

    @property
    def non_trainable_weights(self):
        return self.non_trainable_variables

    @property
    def global_variables(self):
        return self._in_scope(ops.GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self):
        return self._in_scope(ops.GraphKeys.LOCAL_VARIABLES)
