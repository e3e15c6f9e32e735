"""Settings of the command line, kept in ~/.tfdbg_config."""

import json
import os

from braid.tensorflow.python.debug.cli import debugger_cli_common
from braid.tensorflow.python.platform import gfile

RL = debugger_cli_common.RichLine

_BOOLS = {
    **dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("0", "false", "f", "no", "n", "off"), False),
}


class CLIConfig:
    """Properties with defaults; a change is written to the file."""

    _CONFIG_FILE_NAME = ".tfdbg_config"
    _DEFAULT_CONFIG = [("graph_recursion_depth", 20), ("mouse_mode", True)]

    def __init__(self, config_file_path=None):
        self._config_file_path = config_file_path or self._default_config_file_path()
        self._config = dict(self._DEFAULT_CONFIG)
        if gfile.Exists(self._config_file_path):
            self._config.update(self._load_from_file())
        self._save_to_file()
        self._set_callbacks = {}

    def _need(self, property_name):
        if property_name not in self._config:
            raise KeyError("%s is not a valid property name." % property_name)

    def get(self, property_name):
        self._need(property_name)
        return self._config[property_name]

    def set(self, property_name, property_val):
        """Sets a property to a value or its text."""
        self._need(property_name)
        kind = type(self._config[property_name])
        if kind not in (bool, int, str):
            raise TypeError("Unsupported property type: %s" % kind)
        if kind is bool and isinstance(property_val, str):
            if property_val.lower() not in _BOOLS:
                raise ValueError("Invalid string value for bool type: %s" % property_val)
            property_val = _BOOLS[property_val.lower()]
        self._config[property_name] = kind(property_val)
        self._save_to_file()
        if property_name in self._set_callbacks:
            self._set_callbacks[property_name](self._config)

    def set_callback(self, property_name, callback):
        """callback(properties) is called when the property is set."""
        self._need(property_name)
        if not callable(callback):
            raise TypeError("The callback object provided is not callable.")
        self._set_callbacks[property_name] = callback

    def _default_config_file_path(self):
        return os.path.join(os.path.expanduser("~"), self._CONFIG_FILE_NAME)

    def _save_to_file(self):
        try:
            with open(self._config_file_path, "w") as f:
                json.dump(self._config, f)
        except OSError:
            pass  # a directory without a file of settings

    def _load_from_file(self):
        try:
            with open(self._config_file_path) as f:
                return dict(json.load(f))
        except (OSError, ValueError):
            return {}

    def summarize(self, highlight=None):
        """All properties, as RichTextLines."""
        lines = [RL("Command-line configuration:", "bold"), RL("")]
        for name, value in self._config.items():
            attr = "bold" if name == highlight else None
            lines.append(RL("  ") + RL(name, ["underline", attr]) + RL(": ") + RL(str(value), font_attr=attr))
        return debugger_cli_common.rich_text_lines_from_rich_line_list(lines)
