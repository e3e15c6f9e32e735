"""tf.contrib: what programs use of it. Its packages are imported when they are first used."""

import importlib
import pathlib


def __getattr__(name):
    full = f"{__name__}.{name}"
    try:
        return importlib.import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.{name}"))


def __dir__():
    return sorted(p.name for p in pathlib.Path(__file__).parent.iterdir() if (p / "__init__.py").exists())
