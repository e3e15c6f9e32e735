"""Prints what a checkpoint has."""

import argparse
import re

import numpy as np

from braid.tensorflow.python.training import py_checkpoint_reader


def _count_total_params(reader, count_exclude_pattern=""):
    """The number of elements of all tensors whose names the pattern does not match."""
    total = 0
    for name, shape in reader.get_variable_to_shape_map().items():
        if count_exclude_pattern and re.match(count_exclude_pattern, name):
            continue
        total += int(np.prod(shape, dtype=np.int64))
    return total


def print_tensors_in_checkpoint_file(
    file_name, tensor_name, all_tensors, all_tensor_names=False, count_exclude_pattern=""
):
    """Prints tensors of a checkpoint: the list of them all, or one, or all with their values."""
    reader = py_checkpoint_reader.NewCheckpointReader(file_name)
    if all_tensors or all_tensor_names:
        types = reader.get_variable_to_dtype_map()
        for key, _ in sorted(reader.get_variable_to_shape_map().items()):
            print(f"tensor: {key} ({types[key].name}) {reader.get_variable_to_shape_map()[key]}")
            if all_tensors:
                print(reader.get_tensor(key))
    elif not tensor_name:
        print(reader.debug_string().decode("utf-8"))
    else:
        if not reader.has_tensor(tensor_name):
            print(f"Tensor {tensor_name} not found in checkpoint")
            return
        shape = reader.get_variable_to_shape_map()[tensor_name]
        dtype = reader.get_variable_to_dtype_map()[tensor_name]
        print(f"tensor: {tensor_name} ({dtype.name}) {shape}")
        print(reader.get_tensor(tensor_name))
    print(f"# Total number of params: {_count_total_params(reader, count_exclude_pattern)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file_name", required=True, help="the checkpoint's prefix")
    parser.add_argument("--tensor_name", default="", help="the tensor to print")
    parser.add_argument("--count_exclude_pattern", default="")
    parser.add_argument(
        "--all_tensors", nargs="?", const=True, default=False, type=lambda t: t.lower() == "true"
    )
    parser.add_argument(
        "--all_tensor_names", nargs="?", const=True, default=False, type=lambda t: t.lower() == "true"
    )
    flags, _ = parser.parse_known_args()
    print_tensors_in_checkpoint_file(
        flags.file_name,
        flags.tensor_name,
        flags.all_tensors,
        flags.all_tensor_names,
        flags.count_exclude_pattern,
    )


if __name__ == "__main__":
    main()
