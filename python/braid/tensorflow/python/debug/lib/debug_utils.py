"""What RunOptions say of watched tensors."""

import re


def add_debug_tensor_watch(
    run_options,
    node_name,
    output_slot=0,
    debug_ops="DebugIdentity",
    debug_urls=None,
    tolerate_debug_op_creation_failures=False,
    global_step=-1,
):
    """Adds the watch of one tensor to `run_options`.

    `debug_ops`: one or several, with attributes as in "DebugNumericSummary(lower_bound=-1.0; upper_bound=1.0)".
    `debug_urls`: one or several directories, "file:///DIR". Loops run one iteration at a time in such a run.
    """
    run_options.debug_options.global_step = global_step
    watch = run_options.debug_options.debug_tensor_watch_opts.add(
        node_name=node_name,
        output_slot=output_slot,
        tolerate_debug_op_creation_failures=tolerate_debug_op_creation_failures,
    )
    watch.debug_ops.extend([debug_ops] if isinstance(debug_ops, str) else debug_ops)
    if debug_urls:
        watch.debug_urls.extend([debug_urls] if isinstance(debug_urls, str) else debug_urls)


def _compiled(regex):
    return re.compile(regex) if regex else None


def _add_watches(run_options, graph, is_watched, **arguments):
    for op in graph.get_operations():
        for output in op.outputs:
            if is_watched(op, output):
                slot = output.value_index
                add_debug_tensor_watch(run_options, op.name, output_slot=slot, **arguments)


def watch_graph(
    run_options,
    graph,
    debug_ops="DebugIdentity",
    debug_urls=None,
    node_name_regex_whitelist=None,
    op_type_regex_whitelist=None,
    tensor_dtype_regex_whitelist=None,
    tolerate_debug_op_creation_failures=False,
    global_step=-1,
    reset_disk_byte_usage=False,
):
    """Adds watches of all tensors of a graph whose node, type of op and dtype match all expressions given.

    Without an expression, the nodes that the run itself adds are watched, too.
    """
    if not debug_ops:
        raise ValueError("debug_ops must not be empty or None.")
    if not debug_urls:
        raise ValueError("debug_urls must not be empty or None.")
    name, op_type, dtype = map(
        _compiled, (node_name_regex_whitelist, op_type_regex_whitelist, tensor_dtype_regex_whitelist)
    )
    arguments = dict(
        debug_ops=debug_ops,
        debug_urls=debug_urls,
        tolerate_debug_op_creation_failures=tolerate_debug_op_creation_failures,
        global_step=global_step,
    )

    def is_watched(op, output):
        return (
            (not name or name.match(op.name))
            and (not op_type or op_type.match(op.type))
            and (not dtype or dtype.match(output.dtype.name))
        )

    _add_watches(run_options, graph, is_watched, **arguments)
    if not (name or op_type or dtype):
        add_debug_tensor_watch(run_options, "*", output_slot=-1, **arguments)
    run_options.debug_options.reset_disk_byte_usage = reset_disk_byte_usage


def watch_graph_with_blacklists(
    run_options,
    graph,
    debug_ops="DebugIdentity",
    debug_urls=None,
    node_name_regex_blacklist=None,
    op_type_regex_blacklist=None,
    tensor_dtype_regex_blacklist=None,
    tolerate_debug_op_creation_failures=False,
    global_step=-1,
    reset_disk_byte_usage=False,
):
    """Adds watches of all tensors of a graph but those that match one of the expressions."""
    name, op_type, dtype = map(
        _compiled, (node_name_regex_blacklist, op_type_regex_blacklist, tensor_dtype_regex_blacklist)
    )

    def is_watched(op, output):
        return not (
            (name and name.match(op.name))
            or (op_type and op_type.match(op.type))
            or (dtype and dtype.match(output.dtype.name))
        )

    _add_watches(
        run_options,
        graph,
        is_watched,
        debug_ops=debug_ops,
        debug_urls=debug_urls,
        tolerate_debug_op_creation_failures=tolerate_debug_op_creation_failures,
        global_step=global_step,
    )
    run_options.debug_options.reset_disk_byte_usage = reset_disk_byte_usage
