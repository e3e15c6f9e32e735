"""What user interfaces have in common."""

import argparse

from braid.tensorflow.python.debug.cli import cli_config
from braid.tensorflow.python.debug.cli import command_parser
from braid.tensorflow.python.debug.cli import debugger_cli_common

_Registry = debugger_cli_common.CommandHandlerRegistry


class BaseUI:
    """Commands, their completion and the settings; a subclass reads and prints."""

    CLI_PROMPT = "tfdbg> "
    CLI_EXIT_COMMANDS = ["exit", "quit"]
    ERROR_MESSAGE_PREFIX = "ERROR: "
    INFO_MESSAGE_PREFIX = "INFO: "

    def __init__(self, on_ui_exit=None, config=None):
        """on_ui_exit() is called when run_ui ends."""
        self._on_ui_exit = on_ui_exit
        self._command_handler_registry = _Registry()
        self._tab_completion_registry = debugger_cli_common.TabCompletionRegistry()
        self._tab_completion_registry.register_tab_comp_context(
            [""], self.CLI_EXIT_COMMANDS + [_Registry.HELP_COMMAND] + _Registry.HELP_COMMAND_ALIASES
        )
        self._config = config or cli_config.CLIConfig()
        self._config_argparser = argparse.ArgumentParser(
            description="config command", usage=argparse.SUPPRESS
        )
        commands = self._config_argparser.add_subparsers()
        set_command = commands.add_parser("set")
        set_command.add_argument("property_name", type=str)
        set_command.add_argument("property_value", type=str)
        commands.add_parser("show")
        self.register_command_handler(
            "config",
            self._config_command_handler,
            self._config_argparser.format_help(),
            prefix_aliases=["cfg"],
        )

    def set_help_intro(self, help_intro):
        self._command_handler_registry.set_help_intro(help_intro=help_intro)

    def register_command_handler(self, prefix, handler, help_info, prefix_aliases=None):
        self._command_handler_registry.register_command_handler(
            prefix, handler, help_info, prefix_aliases=prefix_aliases
        )
        self._tab_completion_registry.extend_comp_items("", [prefix] + list(prefix_aliases or ()))

    def register_tab_comp_context(self, *args, **kwargs):
        self._tab_completion_registry.register_tab_comp_context(*args, **kwargs)

    def run_ui(self, init_command=None, title=None, title_color=None, enable_mouse_on_start=True):
        """Runs `init_command` and the user's commands until one ends it; returns that one's token."""
        raise NotImplementedError("run_ui() is not implemented in BaseUI")

    def _parse_command(self, command):
        """The command's name, its arguments, and the file that its output is written to, or None."""
        words = command_parser.parse_command(command)
        if not words:
            return "", [], None
        words, path = command_parser.extract_output_file_path(words)
        return words[0], words[1:], path

    def _analyze_tab_complete_input(self, text):
        """The word that says what may follow, the beginning of the last word, and all before it."""
        before, space, last = text.lstrip().rpartition(" ")
        if not space:
            return "", last, ""
        return before.split(" ")[0], last, before + " "

    @property
    def config(self):
        return self._config

    def _config_command_handler(self, args, screen_info=None):
        parsed = self._config_argparser.parse_args(args)
        if not hasattr(parsed, "property_name"):
            return self._config.summarize()
        self._config.set(parsed.property_name, parsed.property_value)
        return self._config.summarize(highlight=parsed.property_name)
