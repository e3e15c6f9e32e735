"""python3 -m braid PROGRAM: runs a Python program in which `import tensorflow` finds Braid.

sys.argv, sys.path, __main__, tracebacks and the exit status are those of `python3 PROGRAM`. Processes that
the program starts find Braid too (multiprocessing, sys.executable): the environment says so
(BRAID_AS_TENSORFLOW).
"""

import importlib.machinery
import io
import os
import runpy
import sys
import types

_USAGE = """usage: python3 -m braid PROGRAM [ARGUMENT...]
       python3 -m braid -m MODULE [ARGUMENT...]
       python3 -m braid -c CODE [ARGUMENT...]
       python3 -m braid --version

Runs a Python program with Braid in place of TensorFlow 1: what it imports as tensorflow is braid.tensorflow.
"""


def _has_own_place_in_path():
    """Whether Python puts the place of the program first in sys.path."""
    return not getattr(sys.flags, "safe_path", False) and not sys.flags.isolated


def _new_main(file, loader):
    """The module __main__ of a program, in place of this one."""
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=__builtins__, __loader__=loader, __spec__=None, __package__=None)
    if file is not None:
        main.__dict__.update(__file__=file, __cached__=None)
    sys.modules["__main__"] = main
    return main


def _run_code(source, name, file=None, loader=None):
    main = _new_main(file, loader)
    exec(compile(source, name, "exec", dont_inherit=True), main.__dict__)


def _run_file(path):
    importer = sys.path_importer_cache.get(path) or _importer_of(path)
    if importer is not None:  # a directory or an archive with a __main__.py
        _set_first(os.path.abspath(path))
        _new_main(None, None)
        runpy._run_module_as_main("__main__", alter_argv=False)
        return
    _set_first(os.path.dirname(os.path.realpath(path)))
    full = os.path.abspath(path)
    try:
        with io.open_code(full) as f:
            source = f.read()
    except OSError as e:
        print(f"braid: can't open file {full!r}: {e}", file=sys.stderr)
        sys.exit(2)
    _run_code(source, full, full, importlib.machinery.SourceFileLoader("__main__", full))


def _importer_of(path):
    for hook in sys.path_hooks:
        try:
            return hook(path)
        except ImportError:
            pass
    return None


def _set_first(place):
    """Puts the place of the program where Python put the one of `-m braid`."""
    if _has_own_place_in_path():
        sys.path[0] = place


def _run_module(name):
    _new_main(None, None)
    runpy._run_module_as_main(name)


def _run(arguments):
    first, rest = arguments[0], arguments[1:]
    if first in ("-m", "-c") and not rest:
        sys.exit(f"braid: what follows {first} is missing")
    if first == "-m":
        sys.argv = ["-m", *rest[1:]]
        _run_module(rest[0])
    elif first == "-c":
        sys.argv = ["-c", *rest[1:]]
        _set_first("")
        _run_code(rest[0], "<string>")
    elif first == "-":
        sys.argv = arguments
        _set_first("")
        _run_code(sys.stdin.read(), "<stdin>")
    else:
        sys.argv = arguments
        _run_file(first)


def _of_program(traceback):
    """The traceback from the first frame that is not of this file or of runpy."""
    inner = traceback
    while inner and inner.tb_frame.f_code.co_filename in (__file__, runpy.__file__, "<frozen runpy>"):
        inner = inner.tb_next
    return inner or None


def _show(error):
    """What Python does with an exception that ends a program."""
    traceback = _of_program(error.__traceback__)
    error.__traceback__ = traceback
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, traceback
    sys.last_exc = error
    sys.excepthook(type(error), error, traceback)


def _tell_servers():
    """The exit status says that the work has failed: the program's servers then do not say that it is done."""
    servers = sys.modules.get("braid.tensorflow.python.training.server_lib")
    if servers is not None:
        servers._fail()


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE, end="", file=sys.stdout if arguments else sys.stderr)
        sys.exit(0 if arguments else 2)
    if arguments[0] == "--version":
        import braid

        print("braid", braid.__version__)
        return
    if arguments[0].startswith("-") and arguments[0] not in ("-", "-m", "-c"):
        sys.exit(f"braid: unknown option {arguments[0]}\n{_USAGE}")

    from braid import as_tensorflow

    os.environ.update(as_tensorflow.child_environment())
    try:
        _run(arguments)
    except SystemExit as e:
        if e.code:
            _tell_servers()
        raise
    except KeyboardInterrupt as e:
        _show(e)
        sys.exit(130)  # as a shell sees a program that SIGINT has ended
    except BaseException as e:
        _show(e)
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
