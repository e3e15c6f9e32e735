"""Python runs this as it starts, in programs that a program under `python3 -m braid` starts: they are under
it too.

It is found by PYTHONPATH and acts where BRAID_AS_TENSORFLOW is 1: see braid.as_tensorflow. Then it makes way
for the sitecustomize that would have run without it.
"""

import importlib.util
import os
import sys


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
        try:
            import braid.as_tensorflow  # noqa: F401
        except ImportError as e:  # another Python: it has no numpy, or none that the extension module is for
            print(f"braid: this Python does not find it as tensorflow: {e}", file=sys.stderr)
    _make_way(here)


_begin()
