"""Files that a plugin of TensorBoard wants beside the summaries of a graph."""

import abc

from braid.tensorflow.python.framework import ops

_PREFIX = "__tensorboard_plugin_asset_"


class PluginAsset(abc.ABC):
    """The files of a plugin. A class has its `plugin_name`; there is one object of it for each graph."""

    plugin_name = None

    @abc.abstractmethod
    def assets(self):
        """The files: a dictionary from names to contents."""


def get_plugin_asset(plugin_asset_cls, graph=None):
    """The graph's object of a PluginAsset class, which is made if there is none.

    ValueError: the class has no name, or another class has it.
    """
    graph = graph or ops.get_default_graph()
    name = plugin_asset_cls.plugin_name
    if not name:
        raise ValueError("Plugin name must be set on %s" % plugin_asset_cls.__name__)
    collection = graph.get_collection_ref(_PREFIX + name)
    if not collection:
        graph.get_collection_ref(_PREFIX).append(name)
        collection.append(plugin_asset_cls())
    if type(collection[0]) is not plugin_asset_cls:
        raise ValueError("Plugin name collision: %s is also that of %s" % (name, type(collection[0])))
    return collection[0]


def get_all_plugin_assets(graph=None):
    """The objects of all classes that the graph has."""
    graph = graph or ops.get_default_graph()
    return [graph.get_collection(_PREFIX + name)[0] for name in graph.get_collection(_PREFIX)]
