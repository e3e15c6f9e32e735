"""Names of files and collections of saved models."""

from braid.tensorflow.python.util.tf_export import tf_export

ASSETS_DIRECTORY = "assets"
ASSETS_KEY = "saved_model_assets"
DEBUG_DIRECTORY = "debug"
DEBUG_INFO_FILENAME_PB = "saved_model_debug_info.pb"
EXTRA_ASSETS_DIRECTORY = "assets.extra"
INIT_OP_SIGNATURE_KEY = "__saved_model_init_op"
LEGACY_INIT_OP_KEY = "legacy_init_op"
MAIN_OP_KEY = "saved_model_main_op"
SAVED_MODEL_FILENAME_PB = "saved_model.pb"
SAVED_MODEL_FILENAME_PBTXT = "saved_model.pbtxt"
SAVED_MODEL_SCHEMA_VERSION = 1
TRAIN_OP_KEY = "saved_model_train_op"
TRAIN_OP_SIGNATURE_KEY = "__saved_model_train_op"
VARIABLES_DIRECTORY = "variables"
VARIABLES_FILENAME = "variables"

tf_export("saved_model.ASSETS_DIRECTORY", "saved_model.constants.ASSETS_DIRECTORY").export_constant(
    __name__, "ASSETS_DIRECTORY"
)
tf_export("saved_model.ASSETS_KEY", "saved_model.constants.ASSETS_KEY").export_constant(
    __name__, "ASSETS_KEY"
)
tf_export("saved_model.LEGACY_INIT_OP_KEY", "saved_model.constants.LEGACY_INIT_OP_KEY").export_constant(
    __name__, "LEGACY_INIT_OP_KEY"
)
tf_export("saved_model.MAIN_OP_KEY", "saved_model.constants.MAIN_OP_KEY").export_constant(
    __name__, "MAIN_OP_KEY"
)
tf_export(
    "saved_model.SAVED_MODEL_FILENAME_PB", "saved_model.constants.SAVED_MODEL_FILENAME_PB"
).export_constant(__name__, "SAVED_MODEL_FILENAME_PB")
tf_export(
    "saved_model.SAVED_MODEL_FILENAME_PBTXT", "saved_model.constants.SAVED_MODEL_FILENAME_PBTXT"
).export_constant(__name__, "SAVED_MODEL_FILENAME_PBTXT")
tf_export(
    "saved_model.SAVED_MODEL_SCHEMA_VERSION", "saved_model.constants.SAVED_MODEL_SCHEMA_VERSION"
).export_constant(__name__, "SAVED_MODEL_SCHEMA_VERSION")
tf_export("saved_model.VARIABLES_DIRECTORY", "saved_model.constants.VARIABLES_DIRECTORY").export_constant(
    __name__, "VARIABLES_DIRECTORY"
)
tf_export("saved_model.VARIABLES_FILENAME", "saved_model.constants.VARIABLES_FILENAME").export_constant(
    __name__, "VARIABLES_FILENAME"
)
