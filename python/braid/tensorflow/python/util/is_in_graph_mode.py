"""Whether ops build a graph: always."""


def IS_IN_GRAPH_MODE():
    return True
