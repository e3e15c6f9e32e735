"""The start of a program: app.run(main) parses the flags and calls main(argv)."""

import os
import sys

from braid.absl import flags

FLAGS = flags.FLAGS
_after_init = []


class Error(Exception):
    pass


class UsageError(Error):
    """The arguments of the program are wrong: it ends after saying how it is used."""

    def __init__(self, message, exitcode=1):
        super().__init__(message)
        self.exitcode = exitcode


class HelpFlag(flags.BooleanFlag):
    """--help: shows the flags of the program and ends it."""

    def __init__(self, name="help", short_name="?", shows_all=False, help="show this help"):
        super().__init__(name, False, help, short_name=short_name, allow_override=True)
        self._shows_all = shows_all

    def parse(self, arg):
        if self._parse(arg):
            usage(shorthelp=not self._shows_all, writeto_stdout=True)
            sys.exit(1)


def define_help_flags():
    """Defines --help, --helpshort and --helpfull, once."""
    if "helpfull" in FLAGS:
        return
    for flag in (
        HelpFlag(),
        HelpFlag("helpshort", None),
        HelpFlag("helpfull", None, True, "show full help"),
    ):
        flags.DEFINE_flag(flag, module_name="absl.app")


def register_and_parse_flags_with_usage(argv=None, flags_parser=None):
    define_help_flags()
    return (flags_parser or parse_flags_with_usage)(sys.argv if argv is None else argv)


def parse_flags_with_usage(args):
    """FLAGS(args). On an error ends the program with code 1."""
    try:
        return FLAGS(args)
    except flags.Error as error:
        message = str(error).replace("\n", "\n  ")
        sys.stderr.write("FATAL Flags parsing error: %s\n" % message)
        sys.stderr.write("Pass --helpshort or --helpfull to see help on flags.\n")
        sys.exit(1)


def usage(shorthelp=False, writeto_stdout=False, detailed_error=None, exitcode=None):
    """Shows the docstring of the program and its flags. exitcode: ends the program."""
    stream = sys.stdout if writeto_stdout else sys.stderr
    name = os.path.basename(sys.argv[0])
    doc = sys.modules["__main__"].__doc__
    doc = "\nUSAGE: %s [flags]\n" % name if not doc else doc.replace("%s", sys.argv[0])
    shown = "\n" + FLAGS.main_module_help() if shorthelp else FLAGS.get_help()
    stream.write(flags.text_wrap(doc, indent="       ", firstline_indent=""))
    stream.write("\nflags:%s\n" % shown)
    if shorthelp:
        stream.write("\nTry --helpfull to get a list of all flags.\n")
    if detailed_error is not None:
        stream.write("\n%s\n" % detailed_error)
    if exitcode is not None:
        sys.exit(exitcode)


def call_after_init(callback):
    """Calls a function once the flags are parsed."""
    if FLAGS.is_parsed():
        callback()
    else:
        _after_init.append(callback)


def run(main, argv=None, flags_parser=parse_flags_with_usage):
    """Parses the flags, and ends the program with the result of main([program, arguments that are no flags])."""
    define_help_flags()
    args = flags_parser(sys.argv if argv is None else argv)
    while _after_init:
        _after_init.pop(0)()
    try:
        sys.exit(main(args))
    except UsageError as error:
        usage(shorthelp=True, detailed_error=error, exitcode=error.exitcode)
