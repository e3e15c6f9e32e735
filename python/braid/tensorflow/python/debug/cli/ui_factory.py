"""Chooses the user interface."""

import sys

SUPPORTED_UI_TYPES = ["curses", "readline"]

_said = []


def get_ui(ui_type, on_ui_exit=None, available_ui_types=None, config=None):
    """The interface "readline", also for "curses", which Braid does not have."""
    if ui_type and ui_type not in (available_ui_types or SUPPORTED_UI_TYPES):
        raise ValueError("Invalid ui_type: '%s'" % ui_type)
    if ui_type != "readline" and not _said:
        _said.append(True)
        print('tfdbg: Braid has no curses interface; this is ui_type="readline"', file=sys.stderr)
    from braid.tensorflow.python.debug.cli import readline_ui

    return readline_ui.ReadlineUI(on_ui_exit=on_ui_exit, config=config)
