"""Networks written as expressions: create_net("net = Cr(64, [5, 5]) | Mp([2, 2]) | Flat | Fm(10)", images)."""

from braid.tensorflow.contrib.specs.python.params_ops import *  # noqa: F401, F403
from braid.tensorflow.contrib.specs.python.specs_ops import *  # noqa: F401, F403
from braid.tensorflow.contrib.specs.python.specs import (  # noqa: F401
    LocalImport,
    create_net,
    create_net_fun,
    eval_params,
    eval_spec,
    ops,
)
from braid.tensorflow.contrib.specs.python.specs_lib import (  # noqa: F401
    Callable,
    Composable,
    Composition,
    Function,
    Operator,
    check_keywords,
    get_positional,
)
from braid.tensorflow.contrib.specs.python.summaries import (  # noqa: F401
    tf_left_split,
    tf_num_params,
    tf_parameter_iter,
    tf_parameter_summary,
    tf_print,
    tf_spec_print,
    tf_spec_structure,
    tf_spec_summary,
    tf_structure,
)
