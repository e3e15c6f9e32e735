"""Files that estimators are written to."""

from braid.tensorflow.contrib.learn.python.learn.utils import gc  # noqa: F401
from braid.tensorflow.contrib.learn.python.learn.utils import input_fn_utils  # noqa: F401
from braid.tensorflow.contrib.learn.python.learn.utils import saved_model_export_utils  # noqa: F401
from braid.tensorflow.contrib.learn.python.learn.utils.input_fn_utils import (  # noqa: F401
    InputFnOps,
    build_default_serving_input_fn,
    build_parsing_serving_input_fn,
)
from braid.tensorflow.contrib.learn.python.learn.utils.saved_model_export_utils import (  # noqa: F401
    build_standardized_signature_def,
    make_export_strategy,
)
