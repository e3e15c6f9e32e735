"""python3 -m braid -m tensorflow.python.debug.cli.offline_analyzer --dump_dir DIR: shows a dump."""

import argparse
import glob
import os
import sys

from braid.tensorflow.python.debug.cli import analyzer_cli
from braid.tensorflow.python.debug.lib import debug_data


def _bool(text):
    return text.lower() == "true"


def main(args=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--dump_dir", type=str, default="", help="the directory of a run's dump")
    parser.add_argument("--log_usage", type=_bool, nargs="?", const=True, default=True, help="without effect")
    parser.add_argument("--ui_type", type=str, default="curses", help="(curses | readline)")
    parser.add_argument(
        "--validate_graph",
        nargs="?",
        const=True,
        type=_bool,
        default=True,
        help="check that the values are of nodes of the graphs, and in their order",
    )
    flags, _ = parser.parse_known_args(args)
    if not flags.dump_dir:
        sys.exit("ERROR: dump_dir flag is empty.")
    print("tfdbg offline: FLAGS.dump_dir = %s" % flags.dump_dir)
    dump = debug_data.DebugDumpDir(flags.dump_dir, validate=flags.validate_graph)
    runs = sorted(glob.glob(os.path.join(flags.dump_dir, "run_*", "")))
    if runs and not dump.devices():
        message = "ERROR: %s holds the runs of a session (%d). Show one: --dump_dir %s"
        sys.exit(message % (flags.dump_dir, len(runs), runs[0]))
    ui = analyzer_cli.create_analyzer_ui(
        dump,
        tensor_filters={"has_inf_or_nan": debug_data.has_inf_or_nan},
        ui_type=flags.ui_type,
    )
    ui.run_ui(title="tfdbg offline @ %s" % flags.dump_dir, title_color="black_on_white", init_command="lt")


if __name__ == "__main__":
    main()
