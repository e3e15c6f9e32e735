"""A user interface in the terminal, line by line."""

import readline

from braid.tensorflow.python.debug.cli import base_ui
from braid.tensorflow.python.debug.cli import debugger_cli_common


class ReadlineUI(base_ui.BaseUI):
    """Reads commands by readline, with completion by Tab, and prints what they say."""

    def __init__(self, on_ui_exit=None, config=None):
        super().__init__(on_ui_exit=on_ui_exit, config=config)
        self._init_input()

    def _init_input(self):
        readline.parse_and_bind("set editing-mode emacs")
        readline.set_completer_delims("\n")
        readline.set_completer(self._readline_complete)
        readline.parse_and_bind("tab: complete")
        self._input = input

    def _readline_complete(self, text, state):
        context, prefix, before = self._analyze_tab_complete_input(text)
        found, _ = self._tab_completion_registry.get_completions(context, prefix)
        return before + found[state] if found and state < len(found) else None

    def run_ui(self, init_command=None, title=None, title_color=None, enable_mouse_on_start=True):
        print(title)
        if init_command is not None:
            self._dispatch_command(init_command)
        exit_token = self._ui_loop()
        if self._on_ui_exit:
            self._on_ui_exit()
        return exit_token

    def _ui_loop(self):
        while True:
            exit_token = self._dispatch_command(self._get_user_command())
            if exit_token is not None:
                return exit_token

    def _get_user_command(self):
        print("")
        try:
            return self._input(self.CLI_PROMPT).strip()
        except EOFError:
            return self.CLI_EXIT_COMMANDS[0]

    def _dispatch_command(self, command):
        """Runs a command and prints its output. Returns the token of one that ends the interface, else None."""
        if command in self.CLI_EXIT_COMMANDS:
            return debugger_cli_common.EXPLICIT_USER_EXIT
        try:
            prefix, args, path = self._parse_command(command)
        except SyntaxError as error:
            print(str(error))
            return None
        if self._command_handler_registry.is_registered(prefix):
            try:
                output = self._command_handler_registry.dispatch_command(prefix, args, screen_info=None)
            except debugger_cli_common.CommandLineExit as end:
                return end.exit_token
        else:
            text = self.ERROR_MESSAGE_PREFIX + 'Invalid command prefix "%s"' % prefix
            output = debugger_cli_common.RichTextLines([text])
        if output is None:
            return None
        self._display_output(output)
        if path:
            try:
                output.write_to_file(path)
                print("Wrote output to %s" % path)
            except Exception:
                print("Failed to write output to %s" % path)
        return None

    def _display_output(self, screen_output):
        for line in screen_output.lines:
            print(line)
