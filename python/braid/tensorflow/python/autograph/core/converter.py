"""Options of a conversion."""

import enum

from braid.tensorflow.python.autograph import refused
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("autograph.experimental.Feature")
class Feature(enum.Enum):
    """What a conversion does only on request."""

    ALL = "ALL"
    AUTO_CONTROL_DEPS = (
        "AUTO_CONTROL_DEPS"  # results wait for the stateful ops of the function, one after the other
    )
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"  # `assert` of a tensor is tf.Assert
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"  # print() of a tensor prints in the step
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"  # == and != of tensors are tf.equal
    LISTS = "LISTS"  # [] and append, pop and items of lists are TensorLists
    NAME_SCOPES = "NAME_SCOPES"  # ops are in a name scope of the function's name

    @classmethod
    def all(cls):
        return tuple(cls.__members__.values())

    @classmethod
    def all_but(cls, exclude):
        exclude = exclude if isinstance(exclude, (list, tuple, set)) else (exclude,)
        return tuple(set(cls.all()) - set(exclude) - {cls.ALL})


class ConversionOptions:
    """recursive: functions that are called are converted too. user_requested: the function itself is
    converted even if it is of a library that is not. optional_features: a Feature or several."""

    def __init__(
        self,
        recursive=False,
        user_requested=False,
        internal_convert_user_code=True,
        optional_features=Feature.ALL,
    ):
        self.recursive = recursive
        self.user_requested = user_requested
        self.internal_convert_user_code = internal_convert_user_code
        if isinstance(optional_features, Feature):
            optional_features = (optional_features,)
        self.optional_features = frozenset(optional_features or ())

    def as_tuple(self):
        return self.recursive, self.user_requested, self.internal_convert_user_code, self.optional_features

    def __hash__(self):
        return hash(self.as_tuple())

    def __eq__(self, other):
        return isinstance(other, ConversionOptions) and self.as_tuple() == other.as_tuple()

    def uses(self, feature):
        return Feature.ALL in self.optional_features or feature in self.optional_features

    def call_options(self):
        """The options for what a converted function calls."""
        return ConversionOptions(
            recursive=self.recursive,
            internal_convert_user_code=self.recursive,
            optional_features=self.optional_features,
        )


STANDARD_OPTIONS = ConversionOptions(recursive=True, optional_features=None)


def __getattr__(name):
    return refused.name(__name__, name)
