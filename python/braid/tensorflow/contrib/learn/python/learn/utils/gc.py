"""Which exports are kept: the filters of tf.contrib.session_bundle."""

from braid.tensorflow.contrib.session_bundle.gc import (  # noqa: F401
    Path,
    get_paths,
    largest_export_versions,
    mod_export_version,
    negation,
    one_of_every_n_export_versions,
    union,
)
