"""The table of a model's layers."""

import numpy as np

from braid.tensorflow.python.util.tf_export import keras_export


def count_params(weights):
    """The number of scalars in different weights."""
    seen, total = set(), 0
    for w in weights:
        if id(w) not in seen:
            seen.add(id(w))
            total += int(np.prod(w.shape.as_list()))
    return total


def print_summary(model, line_length=None, positions=None, print_fn=None):
    """Prints the layers, the shapes of their outputs and the numbers of their weights."""
    print_fn = print_fn or print
    sequential = type(model).__name__ == "Sequential" or not model._is_graph_network
    if not sequential:
        depth = {}
        for node in model._nodes:
            depth[id(node.outbound_layer)] = depth.get(id(node.outbound_layer), 0) + 1
        sequential = (
            all(n == 1 for n in depth.values())
            and all(len(list(node.iterate_inbound())) <= 1 for node in model._nodes)
            and len({id(lay) for node in model._nodes for lay, *_ in node.iterate_inbound()})
            == sum(len(list(node.iterate_inbound())) for node in model._nodes)
        )
    if sequential:
        line_length = line_length or 65
        positions = positions or [0.45, 0.85, 1.0]
        header = ["Layer (type)", "Output Shape", "Param #"]
    else:
        line_length = line_length or 98
        positions = positions or [0.33, 0.55, 0.67, 1.0]
        header = ["Layer (type)", "Output Shape", "Param #", "Connected to"]
    if positions[-1] <= 1:
        positions = [int(line_length * p) for p in positions]

    def row(fields):
        line = ""
        for i, field in enumerate(fields):
            if i > 0:
                line = line[:-1] + " "
            line += str(field)
            line = line[: positions[i]]
            line += " " * (positions[i] - len(line))
        print_fn(line)

    print_fn(f'Model: "{model.name}"')
    print_fn("_" * line_length)
    row(header)
    print_fn("=" * line_length)
    layers = model.layers
    for i, layer in enumerate(layers):
        try:
            shape = layer.output_shape
        except (AttributeError, RuntimeError):
            shape = "multiple"
        try:
            params = layer.count_params()
        except ValueError:
            params = "0 (unused)"
        fields = [f"{layer.name} ({type(layer).__name__})", shape, params]
        if sequential:
            row(fields)
        else:
            places = [
                f"{lay.name}[{n}][{t}]"
                for node in layer._inbound_nodes
                if any(node is own for own in model._nodes)
                for lay, n, t, _ in node.iterate_inbound()
            ]
            row(fields + [places[0] if places else ""])
            for place in places[1:]:
                row(["", "", "", place])
        print_fn(("=" if i == len(layers) - 1 else "_") * line_length)
    trainable = count_params(model.trainable_weights)
    fixed = count_params(model.non_trainable_weights)
    print_fn(f"Total params: {trainable + fixed:,}")
    print_fn(f"Trainable params: {trainable:,}")
    print_fn(f"Non-trainable params: {fixed:,}")
    print_fn("_" * line_length)


@keras_export("keras.utils.get_source_inputs")
def get_source_inputs(tensor, layer=None, node_index=None):
    """The Inputs that a tensor is computed from."""
    if not hasattr(tensor, "_keras_history"):
        return tensor
    if layer is None or node_index:
        layer, node_index, _ = tensor._keras_history
    node = layer._inbound_nodes[node_index]
    inbound = list(node.iterate_inbound())
    if not inbound:
        return list(node.input_tensors) if isinstance(node.input_tensors, list) else [node.input_tensors]
    found = []
    for lay, n, _, t in inbound:
        for x in get_source_inputs(t, lay, n):
            if not any(x is f for f in found):
                found.append(x)
    return found


@keras_export("keras.utils.convert_all_kernels_in_model")
def convert_all_kernels_in_model(model):
    """Turns the kernels of all convolutions over, from Theano's order to TensorFlow's or back."""
    from braid.tensorflow.python.keras import backend as K

    kinds = {
        "Conv1D",
        "Conv2D",
        "Conv3D",
        "Conv2DTranspose",
        "Convolution1D",
        "Convolution2D",
        "Convolution3D",
    }
    K.batch_set_value(
        [
            (layer.kernel, convert_kernel(K.get_value(layer.kernel)))
            for layer in model.layers
            if type(layer).__name__ in kinds
        ]
    )


def convert_kernel(kernel):
    """A kernel of a convolution, turned over along its axes of space."""
    if not 3 <= kernel.ndim <= 5:
        raise ValueError("Invalid kernel shape:", kernel.shape)
    return np.copy(kernel[(slice(None, None, -1),) * (kernel.ndim - 2)])


@keras_export("keras.utils.multi_gpu_model")
def multi_gpu_model(model, gpus, cpu_merge=True, cpu_relocation=False):
    """Refused: there is one device in a process."""
    raise NotImplementedError("tf.keras.utils.multi_gpu_model: use tf.estimator with parameter servers")
