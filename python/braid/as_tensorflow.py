"""Importing this module has `import tensorflow` find Braid, at any depth: tensorflow.X is the module
braid.tensorflow.X.

`python3 -m braid` does so before it runs a program. It holds for this process; processes that are started
with the environment of `child_environment()` do the same. A TensorFlow that is installed is not touched, and
is not found any more. ImportError: one is in use already. `tf.__braid__` tells Braid from TensorFlow.

`absl` (flags, app, logging, testing) and `six`, which came with TensorFlow, are braid.absl and braid.six
where they are not installed. Names that numpy and Python had then and have no more are back: see
braid.old_names.
"""

import importlib
import importlib.machinery
import importlib.util
import os
import sys

from braid import old_names

_SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")
VARIABLE = "BRAID_AS_TENSORFLOW"


class Aliases:
    """Finds the modules of one package under another name. A module stays one object: it runs once."""

    def __init__(self, name, real):
        self._name = name
        self._real = real

    def _real_name(self, fullname):
        if fullname == self._name or fullname.startswith(self._name + "."):
            # tf.compat.v1 is tf: what is below it must not be loaded again under another name.
            return (self._real + fullname[len(self._name) :]).replace(".compat.v1", "")
        return None

    def find_spec(self, fullname, path=None, target=None):
        real = self._real_name(fullname)
        if real is None:
            return None
        if not _exists(real):
            return self._missing(fullname)
        is_package = getattr(sys.modules.get(real), "__path__", None) is not None
        return importlib.machinery.ModuleSpec(fullname, self, origin=real, is_package=is_package)

    def _missing(self, fullname):
        return None

    def create_module(self, spec):
        module = importlib.import_module(spec.origin)
        spec.loader_state = module.__spec__
        return module

    def get_code(self, fullname):
        """For `python3 -m braid -m tensorflow.python.tools.freeze_graph`."""
        real = self._real_name(fullname)
        return importlib.util.find_spec(real).loader.get_code(real)

    def exec_module(self, module):
        """It has run. The import gave it the specification of the alias: takes that back."""
        module.__spec__ = module.__spec__.loader_state


class _Refusing:
    """Loads modules whose content refuses to be used."""

    def create_module(self, spec):
        from braid.tensorflow import missing

        return missing.RefusingModule(spec.name)

    def exec_module(self, module):
        """It has no code."""


class _TensorFlow(Aliases):
    """Says of a module that TensorFlow has and Braid has not what to use in its place."""

    def _missing(self, fullname):
        from braid.tensorflow import missing

        name = fullname.partition(".")[2]
        if missing.is_imported(name):
            return importlib.machinery.ModuleSpec(fullname, _Refusing(), is_package=True)
        is_public = name.partition(".")[0] not in ("core", "python")
        text = missing.message(name) if is_public else "Braid has no such module"
        raise ModuleNotFoundError(f"No module named {fullname!r}: {text}", name=fullname)


def _exists(name):
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # a package above it is not there
        return False


def _install():
    there = sys.modules.get("tensorflow")
    if there is not None and not hasattr(there, "__braid__"):
        raise ImportError(
            "TensorFlow has been imported already: import braid.as_tensorflow, or call braid.install(), first"
        )
    sys.meta_path.insert(0, _TensorFlow("tensorflow", "braid.tensorflow"))
    # A package of its own in 1.15; here its modules are beside TensorFlow's.
    sys.meta_path.insert(0, Aliases("tensorflow_estimator", "braid.tensorflow"))
    # TensorFlow brought these with it: programs import them without saying so.
    sys.meta_path.append(Aliases("absl", "braid.absl"))
    sys.meta_path.append(Aliases("six", "braid.six"))
    sys.meta_path.append(Aliases("distutils", "braid.distutils"))  # which Python brought until 3.11
    old_names.install()


def child_environment(environment=None):
    """The environment of a process whose Python programs find Braid as tensorflow too: os.environ with
    changes.
    """
    made = dict(os.environ if environment is None else environment)
    made[VARIABLE] = "1"
    paths = [path for path in made.get("PYTHONPATH", "").split(os.pathsep) if path and path != _SITE]
    made["PYTHONPATH"] = os.pathsep.join([_SITE, *paths])
    return made


_install()
