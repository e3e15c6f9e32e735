"""tf.contrib: what programs use of it. Its packages are imported when they are first used."""

import importlib
import pathlib
import sys


class _Missing:
    """Says what to use in place of a package that is imported and that no finder before it has found."""

    def find_spec(self, fullname, path=None, target=None):
        if not fullname.startswith(__name__ + "."):
            return None
        from braid.tensorflow import missing

        # Another name than the one that is looked for: of that, `from tensorflow.contrib import NAME` would
        # have a short error of its own.
        name = fullname.partition(".")[2]
        text = missing.message(name.partition(".")[2])
        raise ModuleNotFoundError(f"No module named {name!r}: {text}", name=name)


def __getattr__(name):
    full = f"{__name__}.{name}"
    try:
        return importlib.import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full.partition(".")[2]:
            raise
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.{name}"))


def __dir__():
    return sorted(p.name for p in pathlib.Path(__file__).parent.iterdir() if (p / "__init__.py").exists())


sys.meta_path.append(_Missing())
