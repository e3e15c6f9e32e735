"""What a graph has, printed."""

__all__ = ["analyze_ops", "analyze_vars"]


def tensor_description(var):
    """The shape and type of a tensor or variable, as "(2x3x float32)"."""
    sizes = "x".join(str(size) for size in var.get_shape().as_list())
    return f"({sizes + ', ' if sizes else ''}{var.dtype.base_dtype.name})"


def analyze_ops(graph, print_info=False):
    """The number of operations of a graph, which are printed if asked for."""
    if print_info:
        print("---------")
        print("Operations: name -> (type shapes) [size]")
        print("---------")
    total = 0
    for op in graph.get_operations():
        size = 0
        shapes = []
        for output in op.outputs:
            output_size = output.get_shape().num_elements() or 0
            shapes.append(str(output.get_shape()) if output.get_shape().ndims else "()")
            size += output_size
        if print_info:
            print(op.name, "\t->", ", ".join(shapes), "[" + str(size) + "]")
        total += size
    return total


def analyze_vars(variables, print_info=False):
    """The numbers of elements and of bytes of variables, which are printed if asked for."""
    if print_info:
        print("---------")
        print("Variables: name (type shape) [size]")
        print("---------")
    total_size = total_bytes = 0
    for var in variables:
        size = var.get_shape().num_elements() or 0
        total_size += size
        total_bytes += size * var.dtype.base_dtype.size
        if print_info:
            print(var.name, tensor_description(var), f"[{size}, bytes: {size * var.dtype.base_dtype.size}]")
    if print_info:
        print("Total size of variables:", total_size)
        print("Total bytes of variables:", total_bytes)
    return total_size, total_bytes
