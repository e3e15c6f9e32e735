"""Functions that build operations of the graph."""
