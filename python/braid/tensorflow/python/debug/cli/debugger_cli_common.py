"""Text with attributes, and what user interfaces have in common: commands, completion, history, menus."""

import copy
import os
import re
import traceback

import numpy as np

from braid.tensorflow.python.framework import versions
from braid.tensorflow.python.platform import gfile

HELP_INDENT = "  "
EXPLICIT_USER_EXIT = "explicit_user_exit"
REGEX_MATCH_LINES_KEY = "regex_match_lines"
INIT_SCROLL_POS_KEY = "init_scroll_pos"
MAIN_MENU_KEY = "mm:"


class CommandLineExit(Exception):
    """A command's handler raises it to end the interface, which returns `exit_token`."""

    def __init__(self, exit_token=None):
        super().__init__()
        self._exit_token = exit_token

    @property
    def exit_token(self):
        return self._exit_token


class RichLine:
    """A line whose parts have attributes: font_attr_segs is a list of (start, end, attribute or a list)."""

    def __init__(self, text="", font_attr=None):
        self.text = text
        self.font_attr_segs = [(0, len(text), font_attr)] if font_attr else []

    def __add__(self, other):
        result = RichLine()
        result.font_attr_segs = list(self.font_attr_segs)
        if isinstance(other, str):
            result.text = self.text + other
        elif isinstance(other, RichLine):
            result.text, shift = self.text + other.text, len(self.text)
            result.font_attr_segs += [(shift + a, shift + b, attr) for a, b, attr in other.font_attr_segs]
        else:
            raise TypeError("%r cannot be concatenated with a RichLine" % other)
        return result

    def __len__(self):
        return len(self.text)


def rich_text_lines_from_rich_line_list(rich_text_list, annotations=None):
    """RichTextLines of a list of RichLines and strings."""
    out = RichTextLines([], annotations=annotations)
    for line in rich_text_list:
        if isinstance(line, RichLine):
            out.append_rich_line(line)
        else:
            out.append(line)
    return out


def get_tensorflow_version_lines(include_dependency_versions=False):
    lines = ["TensorFlow version: %s" % versions.VERSION, ""]
    if include_dependency_versions:
        lines += ["Dependency version(s):", "  numpy: %s" % np.__version__, ""]
    return RichTextLines(lines)


class RichTextLines:
    """Lines with attributes (by line, as of RichLine), and annotations by line or by another key."""

    def __init__(self, lines, font_attr_segs=None, annotations=None):
        if isinstance(lines, str):
            lines = [lines]
        elif not isinstance(lines, list):
            raise ValueError("Unexpected type in lines: %s" % type(lines))
        self._lines = lines
        self._font_attr_segs = font_attr_segs or {}
        self._annotations = annotations or {}

    @property
    def lines(self):
        return self._lines

    @property
    def font_attr_segs(self):
        return self._font_attr_segs

    @property
    def annotations(self):
        return self._annotations

    def num_lines(self):
        return len(self._lines)

    def slice(self, begin, end):
        """Lines [begin, end)."""
        if begin < 0 or end < 0:
            raise ValueError("Encountered negative index.")

        def within(by_line):
            kept = {}
            for key, value in by_line.items():
                if not isinstance(key, int):
                    kept[key] = value
                elif begin <= key < end:
                    kept[key - begin] = value
            return kept

        return RichTextLines(self._lines[begin:end], within(self._font_attr_segs), within(self._annotations))

    @staticmethod
    def _shifted(by_line, shift):
        return {key + shift if isinstance(key, int) else key: value for key, value in by_line.items()}

    def extend(self, other):
        """Adds the lines of `other` at the end."""
        shift = self.num_lines()
        self._lines.extend(other.lines)
        self._font_attr_segs.update(self._shifted(other.font_attr_segs, shift))
        self._annotations.update(self._shifted(other.annotations, shift))

    def _extend_before(self, other):
        shift = other.num_lines()
        self._lines = other.lines + self._lines
        self._font_attr_segs = {**self._shifted(self._font_attr_segs, shift), **other.font_attr_segs}
        self._annotations = {**self._shifted(self._annotations, shift), **other.annotations}

    def append(self, line, font_attr_segs=None):
        self._lines.append(line)
        if font_attr_segs:
            self._font_attr_segs[len(self._lines) - 1] = font_attr_segs

    def append_rich_line(self, rich_line):
        self.append(rich_line.text, rich_line.font_attr_segs)

    def prepend(self, line, font_attr_segs=None):
        """Puts a line before the others."""
        other = RichTextLines(line)
        if font_attr_segs:
            other.font_attr_segs[0] = font_attr_segs
        self._extend_before(other)

    def write_to_file(self, file_path):
        with gfile.GFile(file_path, "w") as f:
            f.write("".join(line + "\n" for line in self._lines))


def regex_find(orig_screen_output, regex, font_attr):
    """The lines with an attribute where they match; annotation REGEX_MATCH_LINES_KEY: which do."""
    try:
        pattern = re.compile(regex)
    except re.error:
        raise ValueError('Invalid regular expression: "%s"' % regex) from None
    out = RichTextLines(
        orig_screen_output.lines,
        font_attr_segs=copy.deepcopy(orig_screen_output.font_attr_segs),
        annotations=orig_screen_output.annotations,
    )
    matching = []
    for i, line in enumerate(out.lines):
        found = [(m.start(), m.end(), font_attr) for m in pattern.finditer(line)]
        if found:
            segs = out.font_attr_segs.get(i, []) + found
            out.font_attr_segs[i] = sorted(segs, key=lambda seg: seg[0])
            matching.append(i)
    out.annotations[REGEX_MATCH_LINES_KEY] = matching
    return out


def wrap_rich_text_lines(inp, cols):
    """The lines broken at `cols` columns, and where each line begins now."""
    if not isinstance(inp, RichTextLines):
        raise ValueError("Invalid type of input screen_output")
    if not isinstance(cols, int):
        raise ValueError("Invalid type of input cols")
    out, begins = RichTextLines([]), []
    for i, line in enumerate(inp.lines):
        begins.append(out.num_lines())
        if i in inp.annotations:
            out.annotations[out.num_lines()] = inp.annotations[i]
        segs = inp.font_attr_segs.get(i)
        if len(line) <= cols:
            out.append(line, segs)
            continue
        for begin in range(0, len(line), cols):
            piece = line[begin : begin + cols]
            cut = [(max(a - begin, 0), min(b - begin, len(piece)), attr) for a, b, attr in segs or ()]
            out.append(piece, [seg for seg in cut if seg[0] < seg[1]])
    for key, value in inp.annotations.items():
        if not isinstance(key, int):
            out.annotations[key] = value
    return out, begins


class CommandHandlerRegistry:
    """Commands by their names and aliases, with `help` and `version`."""

    HELP_COMMAND = "help"
    HELP_COMMAND_ALIASES = ["h"]
    VERSION_COMMAND = "version"
    VERSION_COMMAND_ALIASES = ["ver"]

    def __init__(self):
        self._handlers, self._help, self._aliases, self._prefixes = {}, {}, {}, {}
        self._help_intro = None
        self.register_command_handler(
            self.HELP_COMMAND,
            self._help_handler,
            "Print this help message.",
            prefix_aliases=self.HELP_COMMAND_ALIASES,
        )
        self.register_command_handler(
            self.VERSION_COMMAND,
            self._version_handler,
            "Print the versions of TensorFlow and its key dependencies.",
            prefix_aliases=self.VERSION_COMMAND_ALIASES,
        )

    def register_command_handler(self, prefix, handler, help_info, prefix_aliases=None):
        """`handler`: (arguments, screen_info=None) -> RichTextLines or None."""
        if not prefix:
            raise ValueError("Empty command prefix")
        if prefix in self._handlers:
            raise ValueError('A handler is already registered for command prefix "%s"' % prefix)
        if not callable(handler):
            raise ValueError("handler is not callable")
        if not isinstance(help_info, str):
            raise ValueError("help_info is not a str")
        for alias in prefix_aliases or ():
            if self._resolve_prefix(alias):
                raise ValueError('The prefix alias "%s" clashes with existing prefixes or aliases.' % alias)
            self._prefixes[alias] = prefix
        if prefix_aliases:
            self._aliases[prefix] = prefix_aliases
        self._handlers[prefix], self._help[prefix] = handler, help_info

    def dispatch_command(self, prefix, argv, screen_info=None):
        """What the command prints: its error, too, but for CommandLineExit."""
        if not prefix:
            raise ValueError("Prefix is empty")
        resolved = self._resolve_prefix(prefix)
        if not resolved:
            raise ValueError('No handler is registered for command prefix "%s"' % prefix)
        handler = self._handlers[resolved]
        try:
            output = handler(argv, screen_info=screen_info)
        except CommandLineExit:
            raise
        except SystemExit:  # of argparse
            output = RichTextLines(
                ["Syntax error for command: %s" % prefix, 'For help, do "help %s"' % prefix]
            )
        except BaseException as error:
            lines = [
                "Error occurred during handling of command: %s %s:" % (resolved, " ".join(argv)),
                "%s: %s" % (type(error), str(error)),
                "",
            ]
            output = RichTextLines(lines + traceback.format_exc().split("\n"))
        if output is not None and not isinstance(output, RichTextLines):
            raise ValueError(
                "Return value from command handler %s is not None or a RichTextLines instance" % str(handler)
            )
        return output

    def is_registered(self, prefix):
        return self._resolve_prefix(prefix) is not None

    def get_help(self, cmd_prefix=None):
        """The help of a command, or of all."""
        if cmd_prefix:
            return RichTextLines(self._help_of(cmd_prefix))
        help_info = RichTextLines([])
        if self._help_intro:
            help_info.extend(self._help_intro)
        for prefix in sorted(self._handlers):
            help_info.extend(RichTextLines(self._help_of(prefix) + ["", ""]))
        return help_info

    def set_help_intro(self, help_intro):
        """What comes before the help of all commands, RichTextLines."""
        self._help_intro = help_intro

    def _help_handler(self, args, screen_info=None):
        if len(args) > 1:
            return RichTextLines(["ERROR: help takes only 0 or 1 input argument."])
        return self.get_help(*args)

    def _version_handler(self, args, screen_info=None):
        return get_tensorflow_version_lines(include_dependency_versions=True)

    def _resolve_prefix(self, token):
        return token if token in self._handlers else self._prefixes.get(token)

    def _help_of(self, prefix):
        resolved = self._resolve_prefix(prefix)
        if not resolved:
            return ['Invalid command prefix: "%s"' % prefix]
        lines = [resolved]
        if resolved in self._aliases:
            lines.append(HELP_INDENT + "Aliases: " + ", ".join(self._aliases[resolved]))
        return lines + [""] + [HELP_INDENT + line for line in self._help[resolved].split("\n")]


class TabCompletionRegistry:
    """What may follow a word of a command. Words that are registered together share their items."""

    def __init__(self):
        self._comp_dict = {}

    def register_tab_comp_context(self, context_words, comp_items):
        if not isinstance(context_words, list):
            raise TypeError("Incorrect type in context_list: Expected list, got %s" % type(context_words))
        if not isinstance(comp_items, list):
            raise TypeError("Incorrect type in comp_items: Expected list, got %s" % type(comp_items))
        self._comp_dict.update(dict.fromkeys(context_words, sorted(comp_items)))

    def deregister_context(self, context_words):
        for word in context_words:
            if word not in self._comp_dict:
                raise KeyError('Cannot deregister unregistered context word "%s"' % word)
        for word in context_words:
            del self._comp_dict[word]

    def _need(self, word):
        if word not in self._comp_dict:
            raise KeyError('Context word "%s" has not been registered' % word)

    def extend_comp_items(self, context_word, new_comp_items):
        self._need(context_word)
        self._comp_dict[context_word] += new_comp_items
        self._comp_dict[context_word].sort()

    def remove_comp_items(self, context_word, comp_items):
        self._need(context_word)
        for item in comp_items:
            self._comp_dict[context_word].remove(item)

    def get_completions(self, context_word, prefix):
        """The items that begin with `prefix`, and the longest beginning that they share; (None, None): the
        word is not known.
        """
        if context_word not in self._comp_dict:
            return None, None
        items = sorted(item for item in self._comp_dict[context_word] if item.startswith(prefix))
        return items, self._common_prefix(items)

    def _common_prefix(self, m):
        return os.path.commonprefix(m)


class CommandHistory:
    """The last commands, kept in a file."""

    _HISTORY_FILE_NAME = ".tfdbg_history"

    def __init__(self, limit=100, history_file_path=None):
        self._commands, self._limit = [], limit
        self._history_file_path = history_file_path or self._get_default_history_file_path()
        self._load_history_from_file()

    def _load_history_from_file(self):
        if not os.path.isfile(self._history_file_path):
            return
        try:
            with open(self._history_file_path) as f:
                commands = [line.strip() for line in f if line.strip()]
            self._commands = commands[-self._limit :]
            if len(commands) > self._limit:
                with open(self._history_file_path, "w") as f:
                    f.write("".join(command + "\n" for command in self._commands))
        except OSError:
            print("WARNING: writing history file failed.")

    def _add_command_to_history_file(self, command):
        try:
            with open(self._history_file_path, "a") as f:
                f.write(command + "\n")
        except OSError:
            pass

    @classmethod
    def _get_default_history_file_path(cls):
        return os.path.join(os.path.expanduser("~"), cls._HISTORY_FILE_NAME)

    def add_command(self, command):
        if self._commands and command == self._commands[-1]:
            return
        if not isinstance(command, str):
            raise TypeError("Attempt to enter non-str entry to command history")
        self._commands = (self._commands + [command])[-self._limit :]
        self._add_command_to_history_file(command)

    def most_recent_n(self, n):
        return self._commands[-n:]

    def lookup_prefix(self, prefix, n):
        """The last n commands that begin with `prefix`."""
        return [command for command in self._commands if command.startswith(prefix)][-n:]


class MenuItem:
    """A command of a menu, or behind a piece of text."""

    def __init__(self, caption, content, enabled=True):
        self._caption, self._content, self._enabled = caption, content, enabled

    @property
    def caption(self):
        return self._caption

    @property
    def content(self):
        """The command."""
        return self._content

    def is_enabled(self):
        return self._enabled

    def disable(self):
        self._enabled = False

    def enable(self):
        self._enabled = True


class Menu:
    """Items in order."""

    def __init__(self, name=None):
        self._name, self._items = name, []

    def append(self, item):
        self._items.append(item)

    def insert(self, index, item):
        self._items.insert(index, item)

    def num_items(self):
        return len(self._items)

    def captions(self):
        return [item.caption for item in self._items]

    def caption_to_item(self, caption):
        for item in self._items:
            if item.caption == caption:
                return item
        raise LookupError('There is no menu item with the caption "%s"' % caption)

    def format_as_single_line(
        self, prefix=None, divider=" | ", enabled_item_attrs=None, disabled_item_attrs=None
    ):
        """The captions in one line, as RichTextLines."""

        def as_list(attrs):
            return attrs if attrs is None or isinstance(attrs, list) else [attrs]

        enabled, disabled = as_list(enabled_item_attrs), as_list(disabled_item_attrs)
        line, segs = prefix or "", []
        for item in self._items:
            attrs = [item] + (enabled or []) if item.is_enabled() else disabled
            if attrs:
                segs.append((len(line), len(line) + len(item.caption), attrs))
            line += item.caption + divider
        return RichTextLines(line, font_attr_segs={0: segs})
