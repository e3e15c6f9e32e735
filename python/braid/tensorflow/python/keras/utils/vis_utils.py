"""Drawings of models, by pydot and Graphviz."""

import os

from braid.tensorflow.python.keras.engine import network
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import keras_export


def _pydot():
    for name in ("pydot", "pydot_ng", "pydotplus"):
        try:
            return __import__(name)
        except ImportError:
            continue
    raise ImportError("Failed to import pydot. You must install pydot and graphviz for `pydotprint` to work.")


def check_pydot():
    """Whether pydot and Graphviz are there."""
    try:
        pydot = _pydot()
        pydot.Dot.create(pydot.Dot())
        return True
    except (ImportError, OSError):
        return False


@keras_export("keras.utils.model_to_dot")
def model_to_dot(
    model,
    show_shapes=False,
    show_layer_names=True,
    rankdir="TB",
    expand_nested=False,
    dpi=96,
    subgraph=False,
):
    """The graph of a model's layers, a pydot.Dot; a pydot.Cluster for subgraph.

    rankdir: "TB" from top to bottom, "LR" from left to right. expand_nested: whether models within it are
    drawn, too.
    """
    pydot = _pydot()
    if subgraph:
        dot = pydot.Cluster(style="dashed", graph_name=model.name)
        dot.set("label", model.name)
        dot.set("labeljust", "l")
    else:
        dot = pydot.Dot()
        dot.set("rankdir", rankdir)
        dot.set("concentrate", True)
        dot.set("dpi", dpi)
        dot.set_node_defaults(shape="record")
    if not model._is_graph_network:
        dot.add_node(pydot.Node(str(id(model)), label=model.name))
        return dot
    ends = {}  # the first and the last node of each model within
    for layer in model._nested():
        inner = getattr(layer, "layer", None)
        inside = layer if isinstance(layer, network.Network) else inner
        if expand_nested and isinstance(inside, network.Network):
            part = model_to_dot(inside, show_shapes, show_layer_names, rankdir, expand_nested, subgraph=True)
            nodes = part.get_nodes()
            ends[id(layer)] = nodes[0].get_name(), nodes[-1].get_name()
            dot.add_subgraph(part)
            continue
        name, kind = layer.name, type(layer).__name__
        if inner is not None:
            name, kind = f"{name}({inner.name})", f"{kind}({type(inner).__name__})"
        label = f"{name}: {kind}" if show_layer_names else kind
        if show_shapes:
            label += f"\n|{{input:|output:}}|{{{{{_shape(layer, 'input')}}}|{{{_shape(layer, 'output')}}}}}"
        dot.add_node(pydot.Node(str(id(layer)), label=label))
    for node in model._nodes:
        target = ends.get(id(node.outbound_layer), (str(id(node.outbound_layer)),))[0]
        for layer in nest.flatten(node.inbound_layers):
            source = ends.get(id(layer), (str(id(layer)),))[-1]
            if not dot.get_edge(source, target):
                dot.add_edge(pydot.Edge(source, target))
    return dot


def _shape(layer, side):
    try:
        return str(getattr(layer, side + "_shape")).replace("None", "?")
    except AttributeError:
        return "?"


@keras_export("keras.utils.plot_model")
def plot_model(
    model,
    to_file="model.png",
    show_shapes=False,
    show_layer_names=True,
    rankdir="TB",
    expand_nested=False,
    dpi=96,
):
    """Writes model_to_dot's graph as an image, of the kind that the file's name says."""
    dot = model_to_dot(model, show_shapes, show_layer_names, rankdir, expand_nested, dpi)
    dot.write(to_file, format=os.path.splitext(to_file)[1][1:] or "png")
    try:
        from IPython import display
    except ImportError:
        return None
    return display.Image(filename=to_file)
