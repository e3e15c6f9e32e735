"""tf.data: names are found when they are first used."""

import importlib

_MODULES = {
    "Dataset": "ops.dataset_ops",
    "Options": "ops.dataset_ops",
    "make_initializable_iterator": "ops.dataset_ops",
    "make_one_shot_iterator": "ops.dataset_ops",
    "Iterator": "ops.iterator_ops",
    "FixedLengthRecordDataset": "ops.readers",
    "TextLineDataset": "ops.readers",
    "TFRecordDataset": "ops.readers",
}


def __getattr__(name):
    if name == "experimental":
        return importlib.import_module(f"{__name__}.experimental")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value
