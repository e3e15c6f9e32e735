"""Python runs this as it starts, in programs that a program under `python3 -m braid` starts: they are under
it too.

It is found by PYTHONPATH and acts where BRAID_AS_TENSORFLOW is 1: see braid.as_tensorflow, which is imported
when the program imports tensorflow. Then it makes way for the sitecustomize that would have run without it.
"""

import importlib.util
import os
import sys


class _Later:
    """A finder that imports braid.as_tensorflow when one of some packages is imported."""

    def __init__(self, *names):
        self._names = names

    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] not in self._names:
            return None
        sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder) is not _Later]
        try:
            import braid.as_tensorflow  # noqa: F401
        except ImportError as e:  # another Python: it has no numpy, or none that the extension module is for
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: this Python does not take Braid: {e}"
            ) from e
        return importlib.util.find_spec(fullname)


def _make_way(here):
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != here]
    own = sys.modules.pop("sitecustomize", None)
    if importlib.util.find_spec("sitecustomize") is not None:
        import sitecustomize  # noqa: F401
    elif own is not None:
        sys.modules["sitecustomize"] = own


def _begin():
    here = os.path.dirname(os.path.abspath(__file__))
    if os.environ.get("BRAID_AS_TENSORFLOW") == "1":
        if importlib.util.find_spec("braid") is None:
            sys.path.append(os.path.dirname(os.path.dirname(here)))
        sys.meta_path.insert(0, _Later("tensorflow"))
        sys.meta_path.append(_Later("absl", "six", "distutils"))  # where they are not installed
    _make_way(here)


_begin()
