"""tf.app: the start of a program."""

import sys

from braid.tensorflow.python.platform import flags
from braid.tensorflow.python.util.tf_export import tf_export

try:
    from absl.app import run as _run
except ImportError:
    from braid.absl.app import run as _run

tf_export(v1=["flags", "app.flags"]).export_constant(__name__, "flags")


def _parse_flags_tolerate_undef(argv):
    """Parses the flags; those that nobody has defined are left to main."""
    return flags.FLAGS(sys.argv if argv is None else argv, known_only=True)


@tf_export(v1=["app.run"])
def run(main=None, argv=None):
    """Parses the flags, and ends the program with main([program, what is no known flag]).

    main: by default the function of that name in the program.
    """
    main = main or sys.modules["__main__"].main
    _run(main=main, argv=argv, flags_parser=_parse_flags_tolerate_undef)
