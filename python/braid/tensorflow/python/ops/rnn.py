"""Recurrent networks over sequences: tf.nn.dynamic_rnn and its kind."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import control_flow_util
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import rnn_cell_impl
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.ops import variable_scope as vs
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import tf_export

_concat = rnn_cell_impl._concat


def _transpose_batch_time(x):
    """x with its first two axes exchanged."""
    static = x.get_shape()
    if static.ndims is not None and static.ndims < 2:
        raise ValueError(f"Expected input tensor {x} to have rank at least 2, but saw shape: {static}")
    rank = array_ops.rank(x)
    result = array_ops.transpose(x, array_ops.concat(([1, 0], math_ops.range(2, rank)), axis=0))
    if static.ndims is not None:
        sizes = static.as_list()
        result.set_shape([sizes[1], sizes[0]] + sizes[2:])
    return result


def _best_effort_input_batch_size(flat_input):
    """The size of the second axis: a number if any of the inputs tells, or else a tensor."""
    for tensor in flat_input:
        shape = tensor.shape
        if shape.ndims is None:
            continue
        if shape.ndims < 2:
            raise ValueError(f"Expected input tensor {tensor} to have rank at least 2")
        size = tensor_shape.dimension_value(shape.dims[1])
        if size is not None:
            return size
    return array_ops.shape(flat_input[0])[1]


def _infer_state_dtype(explicit_dtype, state):
    if explicit_dtype is not None:
        return explicit_dtype
    if not nest.is_sequence(state):
        return state.dtype
    found = [element.dtype for element in nest.flatten(state)]
    if not found:
        raise ValueError("Unable to infer dtype from empty state.")
    if any(other != found[0] for other in found):
        raise ValueError(
            "State has tensors of different inferred_dtypes. Unable to infer a single representative dtype."
        )
    return found[0]


def _maybe_tensor_shape_from_tensor(shape):
    if isinstance(shape, ops.Tensor):
        return tensor_shape.as_shape(tensor_util.constant_value(shape))
    return shape


def _should_cache():
    """Whether variables may be read once for all steps: not inside a loop, where they may change."""
    context = ops.get_default_graph()._get_control_flow_context()
    return context is None or control_flow_util.GetContainingWhileContext(context) is None


def _cache_variables(scope):
    if _should_cache() and scope.caching_device is None:
        scope.set_caching_device(lambda op: op.device)


def _rnn_step(
    time,
    sequence_length,
    min_sequence_length,
    max_sequence_length,
    zero_output,
    state,
    call_cell,
    state_size,
    skip_conditionals=False,
):
    """The output and state after a step: zeros and the old state for sequences that have ended."""
    flat_state = nest.flatten(state)
    flat_zero_output = nest.flatten(zero_output)
    copy_condition = time >= sequence_length

    def copy_one_through(output, new_output):
        if isinstance(output, tensor_array_ops.TensorArray) or output.shape.ndims == 0:
            return new_output
        with ops.colocate_with(new_output):
            return array_ops.where(copy_condition, output, new_output)

    def copy_some_through(flat_new_output, flat_new_state):
        return [copy_one_through(old, new) for old, new in zip(flat_zero_output, flat_new_output)] + [
            copy_one_through(old, new) for old, new in zip(flat_state, flat_new_state)
        ]

    def run_cell():
        new_output, new_state = call_cell()
        nest.assert_same_structure(zero_output, new_output)
        nest.assert_same_structure(state, new_state)
        return nest.flatten(new_output), nest.flatten(new_state)

    def maybe_copy_some_through():
        flat_new_output, flat_new_state = run_cell()
        return control_flow_ops.cond(
            time < min_sequence_length,
            lambda: flat_new_output + flat_new_state,
            lambda: copy_some_through(flat_new_output, flat_new_state),
        )

    if skip_conditionals:
        final = copy_some_through(*run_cell())
    else:
        final = control_flow_ops.cond(
            time >= max_sequence_length, lambda: flat_zero_output + flat_state, maybe_copy_some_through
        )
    if len(final) != len(flat_zero_output) + len(flat_state):
        raise ValueError("Internal error: state and output were not concatenated correctly.")
    final_output, final_state = final[: len(flat_zero_output)], final[len(flat_zero_output) :]
    for new, old in zip(final_output + final_state, flat_zero_output + flat_state):
        if not isinstance(old, tensor_array_ops.TensorArray):
            new.set_shape(old.get_shape())
    return (
        nest.pack_sequence_as(structure=zero_output, flat_sequence=final_output),
        nest.pack_sequence_as(structure=state, flat_sequence=final_state),
    )


def _reverse_seq(input_seq, lengths):
    """A list of tensors [batch, ...] in reverse order of time, each sequence from its own end."""
    if lengths is None:
        return list(reversed(input_seq))
    flat_input_seq = tuple(nest.flatten(input_) for input_ in input_seq)
    flat_results = [[] for _ in input_seq]
    for sequence in zip(*flat_input_seq):
        shape = tensor_shape.unknown_shape(rank=sequence[0].get_shape().ndims)
        for tensor in sequence:
            shape = shape.merge_with(tensor.get_shape())
            tensor.set_shape(shape)
        reversed_ = array_ops.reverse_sequence(array_ops.stack(sequence), lengths, seq_axis=0, batch_axis=1)
        for part, flat_result in zip(array_ops.unstack(reversed_), flat_results):
            part.set_shape(shape)
            flat_result.append(part)
    return [
        nest.pack_sequence_as(structure=input_, flat_sequence=flat_result)
        for input_, flat_result in zip(input_seq, flat_results)
    ]


@tf_export(v1=["nn.bidirectional_dynamic_rnn"])
def bidirectional_dynamic_rnn(
    cell_fw,
    cell_bw,
    inputs,
    sequence_length=None,
    initial_state_fw=None,
    initial_state_bw=None,
    dtype=None,
    parallel_iterations=None,
    swap_memory=False,
    time_major=False,
    scope=None,
):
    """dynamic_rnn() forwards with one cell and backwards with another.

    Returns the pairs (forward, backward) of outputs and of final states; outputs of both are in order of
    time.
    """
    rnn_cell_impl.assert_like_rnncell("cell_fw", cell_fw)
    rnn_cell_impl.assert_like_rnncell("cell_bw", cell_bw)
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)

    def reverse(tensor):
        if sequence_length is None:
            return array_ops.reverse(tensor, axis=[time_axis])
        return array_ops.reverse_sequence(
            input=tensor, seq_lengths=sequence_length, seq_axis=time_axis, batch_axis=batch_axis
        )

    def run(cell, inputs, initial_state, scope):
        return dynamic_rnn(
            cell=cell,
            inputs=inputs,
            sequence_length=sequence_length,
            initial_state=initial_state,
            dtype=dtype,
            parallel_iterations=parallel_iterations,
            swap_memory=swap_memory,
            time_major=time_major,
            scope=scope,
        )

    with vs.variable_scope(scope or "bidirectional_rnn"):
        with vs.variable_scope("fw") as fw_scope:
            output_fw, state_fw = run(cell_fw, inputs, initial_state_fw, fw_scope)
        with vs.variable_scope("bw") as bw_scope:
            reversed_inputs = nest.map_structure(reverse, inputs)
            reversed_output, state_bw = run(cell_bw, reversed_inputs, initial_state_bw, bw_scope)
    output_bw = nest.map_structure(reverse, reversed_output)
    return (output_fw, output_bw), (state_fw, state_bw)


def _checked_lengths(sequence_length, batch_size):
    def assert_has_shape(x, shape):
        x_shape = array_ops.shape(x)
        packed = array_ops.stack(shape)
        return control_flow_ops.Assert(
            math_ops.reduce_all(math_ops.equal(x_shape, packed)),
            [f"Expected shape for Tensor {x.name} is ", packed, " but saw shape: ", x_shape],
        )

    with ops.control_dependencies([assert_has_shape(sequence_length, [batch_size])]):
        return array_ops.identity(sequence_length, name="CheckSeqLen")


def _lengths(sequence_length):
    sequence_length = math_ops.cast(sequence_length, dtypes.int32)
    if sequence_length.get_shape().ndims not in (None, 1):
        raise ValueError(
            "sequence_length must be a vector of length batch_size, but saw shape: "
            f"{sequence_length.get_shape()}"
        )
    return array_ops.identity(sequence_length, name="sequence_length")


def _initial_state(cell, initial_state, batch_size, dtype):
    if initial_state is not None:
        return initial_state
    if not dtype:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


@tf_export(v1=["nn.dynamic_rnn"])
def dynamic_rnn(
    cell,
    inputs,
    sequence_length=None,
    initial_state=None,
    dtype=None,
    parallel_iterations=None,
    swap_memory=False,
    time_major=False,
    scope=None,
):
    """Runs a cell over sequences [batch, time, ...] ([time, batch, ...] if `time_major`), in a loop.

    Returns the outputs of all steps, in the layout of the inputs, and the final state. Beyond
    `sequence_length` [batch] outputs are zeros and the state stays. `dtype` is needed where `initial_state`
    is not given.
    """
    rnn_cell_impl.assert_like_rnncell("cell", cell)
    with vs.variable_scope(scope or "rnn") as varscope:
        _cache_variables(varscope)
        flat_input = nest.flatten(inputs)
        if not time_major:
            flat_input = [ops.convert_to_tensor(tensor) for tensor in flat_input]
            flat_input = tuple(_transpose_batch_time(tensor) for tensor in flat_input)
        if sequence_length is not None:
            sequence_length = _lengths(sequence_length)
        batch_size = _best_effort_input_batch_size(flat_input)
        state = _initial_state(cell, initial_state, batch_size, dtype)
        if sequence_length is not None:
            sequence_length = _checked_lengths(sequence_length, batch_size)
        inputs = nest.pack_sequence_as(structure=inputs, flat_sequence=flat_input)
        outputs, final_state = _dynamic_rnn_loop(
            cell,
            inputs,
            state,
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
            sequence_length=sequence_length,
            dtype=dtype,
        )
        if not time_major:
            outputs = nest.map_structure(_transpose_batch_time, outputs)
        return outputs, final_state


def _static_times_and_batches(flat_input):
    """The static shapes of the inputs, and the number of steps and the batch size they agree on."""
    shapes = tuple(tensor.get_shape().with_rank_at_least(3) for tensor in flat_input)
    times, batches = shapes[0].as_list()[:2]
    for shape in shapes:
        if not shape[2:].is_fully_defined():
            raise ValueError(
                "Input size (depth of inputs) must be accessible via shape inference, but saw value None."
            )
        if shape.as_list()[0] != times:
            raise ValueError("Time steps is not the same for all the elements in the input in a batch.")
        if shape.as_list()[1] != batches:
            raise ValueError("Batch_size is not the same for all the elements in the input.")
    return shapes, times, batches


def _is_keras_rnn_cell(cell):
    from braid.tensorflow.python.keras.engine import base_layer

    return isinstance(cell, base_layer.Layer) and not hasattr(cell, "zero_state")


def _dynamic_rnn_loop(
    cell,
    inputs,
    initial_state,
    parallel_iterations,
    swap_memory,
    sequence_length=None,
    dtype=None,
):
    """The loop of dynamic_rnn(), for inputs [time, batch, ...]."""
    state = initial_state
    flat_input = nest.flatten(inputs)
    flat_output_size = nest.flatten(cell.output_size)
    time_steps = array_ops.shape(flat_input[0])[0]
    batch_size = _best_effort_input_batch_size(flat_input)
    input_shapes, const_time_steps, const_batch_size = _static_times_and_batches(flat_input)
    output_dtype = _infer_state_dtype(dtype, state)

    flat_zero_output = tuple(
        array_ops.zeros(array_ops.stack(_concat(batch_size, size)), output_dtype) for size in flat_output_size
    )
    zero_output = nest.pack_sequence_as(structure=cell.output_size, flat_sequence=flat_zero_output)
    if sequence_length is not None:
        min_sequence_length = math_ops.reduce_min(sequence_length)
        max_sequence_length = math_ops.reduce_max(sequence_length)
    else:
        max_sequence_length = time_steps
    time = constant_op.constant(0, dtype=dtypes.int32, name="time")
    with ops.name_scope("dynamic_rnn") as scope:
        base_name = scope

    def make_array(name, element_shape, dtype):
        return tensor_array_ops.TensorArray(
            dtype=dtype, size=time_steps, element_shape=element_shape, tensor_array_name=base_name + name
        )

    output_arrays = tuple(
        make_array(
            f"output_{number}",
            tensor_shape.TensorShape([const_batch_size]).concatenate(_maybe_tensor_shape_from_tensor(size)),
            output_dtype,
        )
        for number, size in enumerate(flat_output_size)
    )
    input_arrays = tuple(
        make_array(f"input_{number}", tensor.shape[1:], tensor.dtype)
        for number, tensor in enumerate(flat_input)
    )
    input_arrays = tuple(array.unstack(tensor) for array, tensor in zip(input_arrays, flat_input))

    def step(time, arrays, state):
        current = tuple(array.read(time) for array in input_arrays)
        for tensor, shape in zip(current, input_shapes):
            tensor.set_shape(shape[1:])
        current = nest.pack_sequence_as(structure=inputs, flat_sequence=current)
        is_keras_cell = _is_keras_rnn_cell(cell)
        if is_keras_cell and not nest.is_sequence(state):
            state = [state]

        def call_cell():
            return cell(current, state)

        if sequence_length is not None:
            output, new_state = _rnn_step(
                time=time,
                sequence_length=sequence_length,
                min_sequence_length=min_sequence_length,
                max_sequence_length=max_sequence_length,
                zero_output=zero_output,
                state=state,
                call_cell=call_cell,
                state_size=cell.state_size,
                skip_conditionals=True,
            )
        else:
            output, new_state = call_cell()
        if is_keras_cell and len(new_state) == 1:
            new_state = new_state[0]
        arrays = tuple(array.write(time, out) for array, out in zip(arrays, nest.flatten(output)))
        return time + 1, arrays, new_state

    # At least one step is run, so that the arrays know the shape of what they hold.
    loop_bound = math_ops.minimum(time_steps, math_ops.maximum(1, max_sequence_length))
    _, output_arrays, final_state = control_flow_ops.while_loop(
        cond=lambda time, *_: time < loop_bound,
        body=step,
        loop_vars=(time, output_arrays, state),
        parallel_iterations=parallel_iterations,
        maximum_iterations=time_steps,
        swap_memory=swap_memory,
    )
    outputs = tuple(array.stack() for array in output_arrays)
    for output, size in zip(outputs, flat_output_size):
        output.set_shape(_concat([const_time_steps, const_batch_size], size, static=True))
    return nest.pack_sequence_as(structure=cell.output_size, flat_sequence=outputs), final_state


@tf_export(v1=["nn.raw_rnn"])
def raw_rnn(cell, loop_fn, parallel_iterations=None, swap_memory=False, scope=None):
    """A loop in which `loop_fn(time, output, state, loop_state)` chooses the inputs, and when to end.

    It returns (finished [batch], next input, next state, output to emit, next loop_state); the first time
    with output None, for the initial state and the structure of what is emitted. Returns (a TensorArray, or
    a structure of them, of what was emitted; the final state; the final loop_state).
    """
    rnn_cell_impl.assert_like_rnncell("cell", cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with vs.variable_scope(scope or "rnn") as varscope:
        _cache_variables(varscope)
        time = constant_op.constant(0, dtype=dtypes.int32)
        elements_finished, next_input, initial_state, emit_structure, init_loop_state = loop_fn(
            time, None, None, None
        )
        flat_input = nest.flatten(next_input)
        loop_state = (
            init_loop_state if init_loop_state is not None else constant_op.constant(0, dtype=dtypes.int32)
        )
        static_batch = tensor_shape.dimension_at_index(flat_input[0].get_shape(), 0)
        for tensor in flat_input:
            static_batch = static_batch.merge_with(tensor_shape.dimension_at_index(tensor.get_shape(), 0))
        batch_size = tensor_shape.dimension_value(static_batch)
        if batch_size is None:
            batch_size = array_ops.shape(flat_input[0])[0]
        nest.assert_same_structure(initial_state, cell.state_size)
        state = initial_state
        flat_state = [ops.convert_to_tensor(s) for s in nest.flatten(state)]
        state = nest.pack_sequence_as(structure=state, flat_sequence=flat_state)
        if emit_structure is not None:
            flat_emit = nest.flatten(emit_structure)
            flat_emit_size = [
                emit.shape if emit.shape.is_fully_defined() else array_ops.shape(emit) for emit in flat_emit
            ]
            flat_emit_dtypes = [emit.dtype for emit in flat_emit]
        else:
            emit_structure = cell.output_size
            flat_emit_size = nest.flatten(emit_structure)
            flat_emit_dtypes = [flat_state[0].dtype] * len(flat_emit_size)
        flat_emit_ta = [
            tensor_array_ops.TensorArray(
                dtype=dtype,
                dynamic_size=True,
                element_shape=tensor_shape.TensorShape([static_batch]).concatenate(
                    _maybe_tensor_shape_from_tensor(size)
                ),
                size=0,
                name=f"rnn_output_{number}",
            )
            for number, (dtype, size) in enumerate(zip(flat_emit_dtypes, flat_emit_size))
        ]
        emit_ta = nest.pack_sequence_as(structure=emit_structure, flat_sequence=flat_emit_ta)
        flat_zero_emit = [
            array_ops.zeros(_concat(batch_size, size), dtype)
            for size, dtype in zip(flat_emit_size, flat_emit_dtypes)
        ]
        zero_emit = nest.pack_sequence_as(structure=emit_structure, flat_sequence=flat_zero_emit)

        def condition(unused_time, elements_finished, *_):
            return math_ops.logical_not(math_ops.reduce_all(elements_finished))

        def body(time, elements_finished, current_input, emit_ta, state, loop_state):
            next_output, cell_state = cell(current_input, state)
            nest.assert_same_structure(state, cell_state)
            nest.assert_same_structure(cell.output_size, next_output)
            next_time = time + 1
            next_finished, next_input, next_state, emit_output, next_loop_state = loop_fn(
                next_time, next_output, cell_state, loop_state
            )
            nest.assert_same_structure(state, next_state)
            nest.assert_same_structure(current_input, next_input)
            nest.assert_same_structure(emit_ta, emit_output)
            loop_state = loop_state if next_loop_state is None else next_loop_state

            def copy_some_through(current, candidate):
                def copy_fn(current_i, candidate_i):
                    if isinstance(current_i, tensor_array_ops.TensorArray) or current_i.shape.ndims == 0:
                        return candidate_i
                    with ops.colocate_with(candidate_i):
                        return array_ops.where(elements_finished, current_i, candidate_i)

                return nest.map_structure(copy_fn, current, candidate)

            emit_output = copy_some_through(zero_emit, emit_output)
            next_state = copy_some_through(state, next_state)
            emit_ta = nest.map_structure(lambda ta, emit: ta.write(time, emit), emit_ta, emit_output)
            elements_finished = math_ops.logical_or(elements_finished, next_finished)
            return next_time, elements_finished, next_input, emit_ta, next_state, loop_state

        returned = control_flow_ops.while_loop(
            condition,
            body,
            loop_vars=[time, elements_finished, next_input, emit_ta, state, loop_state],
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
        )
        emit_ta, final_state, final_loop_state = returned[-3:]
        return emit_ta, final_state, None if init_loop_state is None else final_loop_state


@tf_export(v1=["nn.static_rnn"])
def static_rnn(cell, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
    """Runs a cell over a list of inputs [batch, ...], one for each step, without a loop in the graph.

    Returns the list of outputs and the final state. See dynamic_rnn() for the other arguments.
    """
    rnn_cell_impl.assert_like_rnncell("cell", cell)
    if not nest.is_sequence(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    outputs = []
    with vs.variable_scope(scope or "rnn") as varscope:
        _cache_variables(varscope)
        first_input = inputs
        while nest.is_sequence(first_input):
            first_input = first_input[0]
        fixed_batch_size = None
        if first_input.get_shape().ndims != 1:
            input_shape = first_input.get_shape().with_rank_at_least(2)
            fixed_batch_size = input_shape.dims[0]
            for tensor in nest.flatten(inputs):
                shape = tensor.get_shape()
                fixed_batch_size.merge_with(shape.dims[0])
                if any(size is None for size in shape.as_list()[1:]):
                    raise ValueError(
                        "Input size (dimension 1 of inputs) must be accessible via shape inference, but saw "
                        "value None."
                    )
        else:
            fixed_batch_size = first_input.get_shape().with_rank_at_least(1).dims[0]
        batch_size = tensor_shape.dimension_value(fixed_batch_size)
        if batch_size is None:
            batch_size = array_ops.shape(first_input)[0]
        state = _initial_state(cell, initial_state, batch_size, dtype)
        if sequence_length is not None:
            sequence_length = ops.convert_to_tensor(sequence_length, name="sequence_length")
            if sequence_length.get_shape().ndims not in (None, 1):
                raise ValueError("sequence_length must be a vector of length batch_size")
            output_dtype = _infer_state_dtype(dtype, state)

            def zeros(size):
                made = array_ops.zeros(array_ops.stack(_concat(batch_size, size)), output_dtype)
                made.set_shape(_concat(tensor_shape.dimension_value(fixed_batch_size), size, static=True))
                return made

            zero_output = nest.pack_sequence_as(
                structure=cell.output_size,
                flat_sequence=tuple(zeros(size) for size in nest.flatten(cell.output_size)),
            )
            sequence_length = math_ops.cast(sequence_length, dtypes.int32)
            min_sequence_length = math_ops.reduce_min(sequence_length)
            max_sequence_length = math_ops.reduce_max(sequence_length)
        is_keras_cell = _is_keras_rnn_cell(cell)
        if is_keras_cell and not nest.is_sequence(state):
            state = [state]
        for time, input_ in enumerate(inputs):
            if time > 0:
                varscope.reuse_variables()

            def call_cell(input_=input_, state=state):
                return cell(input_, state)

            if sequence_length is not None:
                output, state = _rnn_step(
                    time=time,
                    sequence_length=sequence_length,
                    min_sequence_length=min_sequence_length,
                    max_sequence_length=max_sequence_length,
                    zero_output=zero_output,
                    state=state,
                    call_cell=call_cell,
                    state_size=cell.state_size,
                )
            else:
                output, state = call_cell()
            outputs.append(output)
        if is_keras_cell and len(state) == 1:
            state = state[0]
        return outputs, state


@tf_export(v1=["nn.static_state_saving_rnn"])
def static_state_saving_rnn(cell, inputs, state_saver, state_name, sequence_length=None, scope=None):
    """static_rnn() whose state is taken from and given to `state_saver` under `state_name`."""
    state_size = cell.state_size
    state_is_tuple = nest.is_sequence(state_size)
    if state_is_tuple != nest.is_sequence(state_name):
        raise ValueError(
            f"state_name should be the same type as cell.state_size. state_name: {state_name}, "
            f"cell.state_size: {state_size}"
        )
    if state_is_tuple:
        names = nest.flatten(state_name)
        sizes = nest.flatten(state_size)
        if len(names) != len(sizes):
            raise ValueError(f"#elems(state_name) != #elems(state_size): {len(names)} vs. {len(sizes)}")
        initial_state = nest.pack_sequence_as(
            structure=state_size, flat_sequence=[state_saver.state(name) for name in names]
        )
    else:
        initial_state = state_saver.state(state_name)
    outputs, state = static_rnn(
        cell, inputs, initial_state=initial_state, sequence_length=sequence_length, scope=scope
    )
    if state_is_tuple:
        save = [
            state_saver.save_state(name, substate)
            for name, substate in zip(nest.flatten(state_name), nest.flatten(state))
        ]
    else:
        save = [state_saver.save_state(state_name, state)]
    with ops.control_dependencies(save):
        flat = [array_ops.identity(output) for output in nest.flatten(outputs[-1])]
        outputs[-1] = nest.pack_sequence_as(structure=outputs[-1], flat_sequence=flat)
        if state_is_tuple:
            state = nest.pack_sequence_as(
                structure=state, flat_sequence=[array_ops.identity(s) for s in nest.flatten(state)]
            )
        else:
            state = array_ops.identity(state)
    return outputs, state


@tf_export(v1=["nn.static_bidirectional_rnn"])
def static_bidirectional_rnn(
    cell_fw,
    cell_bw,
    inputs,
    initial_state_fw=None,
    initial_state_bw=None,
    dtype=None,
    sequence_length=None,
    scope=None,
):
    """static_rnn() forwards and backwards.

    Returns the list of outputs of both side by side, and the two final states.
    """
    rnn_cell_impl.assert_like_rnncell("cell_fw", cell_fw)
    rnn_cell_impl.assert_like_rnncell("cell_bw", cell_bw)
    if not nest.is_sequence(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with vs.variable_scope(scope or "bidirectional_rnn"):
        with vs.variable_scope("fw") as fw_scope:
            output_fw, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=fw_scope
            )
        with vs.variable_scope("bw") as bw_scope:
            reversed_inputs = _reverse_seq(inputs, sequence_length)
            reversed_output, state_bw = static_rnn(
                cell_bw, reversed_inputs, initial_state_bw, dtype, sequence_length, scope=bw_scope
            )
    output_bw = _reverse_seq(reversed_output, sequence_length)
    outputs = tuple(
        array_ops.concat([fw, bw], 1) for fw, bw in zip(nest.flatten(output_fw), nest.flatten(output_bw))
    )
    outputs = nest.pack_sequence_as(structure=output_fw, flat_sequence=outputs)
    return outputs, state_fw, state_bw
