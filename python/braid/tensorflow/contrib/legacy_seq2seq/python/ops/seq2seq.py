"""Networks that read a sequence and write another (Sutskever et al. 2014; Bahdanau et al. 2014).

Sequences are lists of tensors [batch, ...]. A `loop_function(output, number of the step)` gives the next
input of a decoder in place of `decoder_inputs`.
"""

import copy

from braid.tensorflow.contrib.rnn.python.ops import rnn_cell as contrib_rnn_cell
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import embedding_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import rnn
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.util import nest

__all__ = [
    "attention_decoder",
    "basic_rnn_seq2seq",
    "embedding_attention_decoder",
    "embedding_attention_seq2seq",
    "embedding_rnn_decoder",
    "embedding_rnn_seq2seq",
    "embedding_tied_rnn_seq2seq",
    "model_with_buckets",
    "one2many_rnn_seq2seq",
    "rnn_decoder",
    "sequence_loss",
    "sequence_loss_by_example",
    "tied_rnn_seq2seq",
]

linear = contrib_rnn_cell.linear


def _extract_argmax_and_embed(embedding, output_projection=None, update_embedding=True):
    """A loop function that embeds the most probable class of an output."""

    def loop_function(prev, _):
        if output_projection is not None:
            prev = nn_ops.xw_plus_b(prev, output_projection[0], output_projection[1])
        symbol = math_ops.argmax(prev, 1)
        embedded = embedding_ops.embedding_lookup(embedding, symbol)
        return embedded if update_embedding else array_ops.stop_gradient(embedded)

    return loop_function


def rnn_decoder(decoder_inputs, initial_state, cell, loop_function=None, scope=None):
    """The outputs of the steps, and the last state."""
    with variable_scope.variable_scope(scope or "rnn_decoder"):
        state = initial_state
        outputs = []
        prev = None
        for number, inp in enumerate(decoder_inputs):
            if loop_function is not None and prev is not None:
                with variable_scope.variable_scope("loop_function", reuse=True):
                    inp = loop_function(prev, number)
            if number > 0:
                variable_scope.get_variable_scope().reuse_variables()
            output, state = cell(inp, state)
            outputs.append(output)
            if loop_function is not None:
                prev = output
    return outputs, state


def basic_rnn_seq2seq(encoder_inputs, decoder_inputs, cell, dtype=dtypes.float32, scope=None):
    """rnn_decoder() from the last state of an encoder with weights of its own."""
    with variable_scope.variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = rnn.static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(
    encoder_inputs, decoder_inputs, cell, loop_function=None, dtype=dtypes.float32, scope=None
):
    """rnn_decoder() from the last state of an encoder with the same weights."""
    with variable_scope.variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = rnn.static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        variable_scope.get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function, scope=scope)


def _check_projection(output_projection, rows, columns):
    if output_projection is not None:
        ops.convert_to_tensor(output_projection[0]).get_shape().assert_is_compatible_with([rows, columns])
        ops.convert_to_tensor(output_projection[1]).get_shape().assert_is_compatible_with([columns])


def embedding_rnn_decoder(
    decoder_inputs,
    initial_state,
    cell,
    num_symbols,
    embedding_size,
    output_projection=None,
    feed_previous=False,
    update_embedding_for_previous=True,
    scope=None,
):
    """rnn_decoder() of ids. With `feed_previous` the inputs are the most probable outputs, but for the first."""
    with variable_scope.variable_scope(scope or "embedding_rnn_decoder") as scope:
        _check_projection(output_projection, None, num_symbols)
        embedding = variable_scope.get_variable("embedding", [num_symbols, embedding_size])
        loop_function = None
        if feed_previous:
            loop_function = _extract_argmax_and_embed(
                embedding, output_projection, update_embedding_for_previous
            )
        # Each is looked up in the step that takes it.
        embedded = (embedding_ops.embedding_lookup(embedding, i) for i in decoder_inputs)
        return rnn_decoder(embedded, initial_state, cell, loop_function=loop_function)


def embedding_rnn_seq2seq(
    encoder_inputs,
    decoder_inputs,
    cell,
    num_encoder_symbols,
    num_decoder_symbols,
    embedding_size,
    output_projection=None,
    feed_previous=False,
    dtype=None,
    scope=None,
):
    """basic_rnn_seq2seq() of ids, with outputs [batch, num_decoder_symbols] unless they are projected elsewhere."""
    with variable_scope.variable_scope(scope or "embedding_rnn_seq2seq") as scope:
        if dtype is not None:
            scope.set_dtype(dtype)
        else:
            dtype = scope.dtype
        encoder_cell = contrib_rnn_cell.EmbeddingWrapper(
            copy.deepcopy(cell), embedding_classes=num_encoder_symbols, embedding_size=embedding_size
        )
        _, encoder_state = rnn.static_rnn(encoder_cell, encoder_inputs, dtype=dtype)
        if output_projection is None:
            cell = contrib_rnn_cell.OutputProjectionWrapper(cell, num_decoder_symbols)

        def decoder(is_fed):
            return embedding_rnn_decoder(
                decoder_inputs,
                encoder_state,
                cell,
                num_decoder_symbols,
                embedding_size,
                output_projection=output_projection,
                feed_previous=is_fed,
            )

        return _decoded(feed_previous, decoder, len(decoder_inputs), encoder_state)


def _decoded(feed_previous, decoder, length, state):
    """decoder(feed_previous), of which a run chooses where `feed_previous` is a tensor."""
    if isinstance(feed_previous, bool):
        return decoder(feed_previous)

    def branch(is_fed):
        with variable_scope.variable_scope(
            variable_scope.get_variable_scope(), reuse=None if is_fed else True
        ):
            outputs, final_state = decoder(is_fed)
            return outputs + nest.flatten(final_state)

    chosen = control_flow_ops.cond(feed_previous, lambda: branch(True), lambda: branch(False))
    outputs, flat_state = chosen[:length], chosen[length:]
    if nest.is_sequence(state):
        return outputs, nest.pack_sequence_as(structure=state, flat_sequence=flat_state)
    return outputs, flat_state[0]


def embedding_tied_rnn_seq2seq(
    encoder_inputs,
    decoder_inputs,
    cell,
    num_symbols,
    embedding_size,
    num_decoder_symbols=None,
    output_projection=None,
    feed_previous=False,
    dtype=None,
    scope=None,
):
    """embedding_rnn_seq2seq() with one embedding, and the same weights for the encoder and the decoder."""
    with variable_scope.variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as scope:
        dtype = scope.dtype
        _check_projection(output_projection, None, num_symbols)
        embedding = variable_scope.get_variable("embedding", [num_symbols, embedding_size], dtype=dtype)
        embedded_encoder = [embedding_ops.embedding_lookup(embedding, x) for x in encoder_inputs]
        embedded_decoder = [embedding_ops.embedding_lookup(embedding, x) for x in decoder_inputs]
        output_symbols = num_symbols
        if num_decoder_symbols is not None:
            output_symbols = num_decoder_symbols
        if output_projection is None:
            cell = contrib_rnn_cell.OutputProjectionWrapper(cell, output_symbols)

        def decoder(is_fed):
            loop_function = _extract_argmax_and_embed(embedding, output_projection, True) if is_fed else None
            return tied_rnn_seq2seq(
                embedded_encoder, embedded_decoder, cell, loop_function=loop_function, dtype=dtype
            )

        if isinstance(feed_previous, bool):
            return decoder(feed_previous)
        batch = array_ops.shape(encoder_inputs[0])[0]
        state = cell.zero_state(batch, dtype)
        return _decoded(feed_previous, decoder, len(decoder_inputs), state)


def attention_decoder(
    decoder_inputs,
    initial_state,
    attention_states,
    cell,
    output_size=None,
    num_heads=1,
    loop_function=None,
    dtype=None,
    scope=None,
    initial_state_attention=False,
):
    """rnn_decoder() that attends to `attention_states` [batch, length, size], `num_heads` times.

    With `initial_state_attention` the first step attends too, from the initial state.
    """
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    if attention_states.get_shape()[2].value is None:
        raise ValueError(f"Shape[2] of attention_states must be known: {attention_states.get_shape()}")
    output_size = cell.output_size if output_size is None else output_size
    with variable_scope.variable_scope(scope or "attention_decoder", dtype=dtype) as scope:
        dtype = scope.dtype
        batch_size = array_ops.shape(decoder_inputs[0])[0]
        length = attention_states.get_shape()[1].value
        if length is None:
            length = array_ops.shape(attention_states)[1]
        size = attention_states.get_shape()[2].value
        hidden = array_ops.reshape(attention_states, [-1, length, 1, size])
        features, vectors = [], []
        for a in range(num_heads):
            k = variable_scope.get_variable(f"AttnW_{a}", [1, 1, size, size], dtype=dtype)
            features.append(nn_ops.conv2d(hidden, k, [1, 1, 1, 1], "SAME"))
            vectors.append(variable_scope.get_variable(f"AttnV_{a}", [size], dtype=dtype))
        state = initial_state

        def attention(query):
            results = []
            if nest.is_sequence(query):
                query = array_ops.concat(nest.flatten(query), 1)
            for a in range(num_heads):
                with variable_scope.variable_scope(f"Attention_{a}"):
                    y = array_ops.reshape(linear(query, size, True), [-1, 1, 1, size])
                    y = math_ops.cast(y, dtype)
                    s = math_ops.reduce_sum(vectors[a] * math_ops.tanh(features[a] + y), [2, 3])
                    weights = array_ops.reshape(
                        nn_ops.softmax(math_ops.cast(s, dtypes.float32)), [-1, length, 1, 1]
                    )
                    d = math_ops.reduce_sum(math_ops.cast(weights, dtype) * hidden, [1, 2])
                    results.append(array_ops.reshape(d, [-1, size]))
            return results

        outputs = []
        prev = None
        shape = array_ops.stack([batch_size, size])
        attns = [array_ops.zeros(shape, dtype=dtype) for _ in range(num_heads)]
        for a in attns:
            a.set_shape([None, size])
        if initial_state_attention:
            attns = attention(initial_state)
        for number, inp in enumerate(decoder_inputs):
            if number > 0:
                variable_scope.get_variable_scope().reuse_variables()
            if loop_function is not None and prev is not None:
                with variable_scope.variable_scope("loop_function", reuse=True):
                    inp = loop_function(prev, number)
            input_size = inp.get_shape().with_rank(2)[1]
            if input_size.value is None:
                raise ValueError(f"Could not infer input size from input: {inp.name}")
            x = linear([inp] + attns, input_size.value, True)
            cell_output, state = cell(x, state)
            if number == 0 and initial_state_attention:
                with variable_scope.variable_scope(variable_scope.get_variable_scope(), reuse=True):
                    attns = attention(state)
            else:
                attns = attention(state)
            with variable_scope.variable_scope("AttnOutputProjection"):
                output = linear([cell_output] + attns, output_size, True)
            if loop_function is not None:
                prev = output
            outputs.append(output)
    return outputs, state


def embedding_attention_decoder(
    decoder_inputs,
    initial_state,
    attention_states,
    cell,
    num_symbols,
    embedding_size,
    num_heads=1,
    output_size=None,
    output_projection=None,
    feed_previous=False,
    update_embedding_for_previous=True,
    dtype=None,
    scope=None,
    initial_state_attention=False,
):
    """attention_decoder() of ids."""
    output_size = cell.output_size if output_size is None else output_size
    with variable_scope.variable_scope(scope or "embedding_attention_decoder", dtype=dtype) as scope:
        _check_projection(output_projection, output_size, num_symbols)
        embedding = variable_scope.get_variable("embedding", [num_symbols, embedding_size])
        loop_function = None
        if feed_previous:
            loop_function = _extract_argmax_and_embed(
                embedding, output_projection, update_embedding_for_previous
            )
        embedded = [embedding_ops.embedding_lookup(embedding, i) for i in decoder_inputs]
        return attention_decoder(
            embedded,
            initial_state,
            attention_states,
            cell,
            output_size=output_size,
            num_heads=num_heads,
            loop_function=loop_function,
            initial_state_attention=initial_state_attention,
        )


def embedding_attention_seq2seq(
    encoder_inputs,
    decoder_inputs,
    cell,
    num_encoder_symbols,
    num_decoder_symbols,
    embedding_size,
    num_heads=1,
    output_projection=None,
    feed_previous=False,
    dtype=None,
    scope=None,
    initial_state_attention=False,
):
    """embedding_rnn_seq2seq() whose decoder attends to the outputs of the encoder."""
    with variable_scope.variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as scope:
        dtype = scope.dtype
        encoder_cell = contrib_rnn_cell.EmbeddingWrapper(
            copy.deepcopy(cell), embedding_classes=num_encoder_symbols, embedding_size=embedding_size
        )
        encoder_outputs, encoder_state = rnn.static_rnn(encoder_cell, encoder_inputs, dtype=dtype)
        top_states = [array_ops.reshape(e, [-1, 1, cell.output_size]) for e in encoder_outputs]
        attention_states = array_ops.concat(top_states, 1)
        output_size = None
        if output_projection is None:
            cell = contrib_rnn_cell.OutputProjectionWrapper(cell, num_decoder_symbols)
            output_size = num_decoder_symbols

        def decoder(is_fed):
            return embedding_attention_decoder(
                decoder_inputs,
                encoder_state,
                attention_states,
                cell,
                num_decoder_symbols,
                embedding_size,
                num_heads=num_heads,
                output_size=output_size,
                output_projection=output_projection,
                feed_previous=is_fed,
                initial_state_attention=initial_state_attention,
            )

        return _decoded(feed_previous, decoder, len(decoder_inputs), encoder_state)


def one2many_rnn_seq2seq(
    encoder_inputs,
    decoder_inputs_dict,
    enc_cell,
    dec_cells_dict,
    num_encoder_symbols,
    num_decoder_symbols_dict,
    embedding_size,
    feed_previous=False,
    dtype=None,
    scope=None,
):
    """One encoder and several decoders, by name. Returns dicts of outputs and of states."""
    outputs_dict, state_dict = {}, {}
    with variable_scope.variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as scope:
        dtype = scope.dtype
        encoder_cell = contrib_rnn_cell.EmbeddingWrapper(
            enc_cell, embedding_classes=num_encoder_symbols, embedding_size=embedding_size
        )
        _, encoder_state = rnn.static_rnn(encoder_cell, encoder_inputs, dtype=dtype)
        for name, decoder_inputs in decoder_inputs_dict.items():
            symbols = num_decoder_symbols_dict[name]
            with variable_scope.variable_scope("one2many_decoder_" + str(name)):
                cell = contrib_rnn_cell.OutputProjectionWrapper(dec_cells_dict[name], symbols)

                def decoder(is_fed, decoder_inputs=decoder_inputs, cell=cell, symbols=symbols):
                    return embedding_rnn_decoder(
                        decoder_inputs, encoder_state, cell, symbols, embedding_size, feed_previous=is_fed
                    )

                outputs, state = _decoded(feed_previous, decoder, len(decoder_inputs), encoder_state)
            outputs_dict[name] = outputs
            state_dict[name] = state
    return outputs_dict, state_dict


def sequence_loss_by_example(
    logits,
    targets,
    weights,
    average_across_timesteps=True,
    softmax_loss_function=None,
    name=None,
):
    """[batch]: the cross-entropy of the steps of each example, weighted, and by the sum of the weights."""
    if len(targets) != len(logits) or len(weights) != len(logits):
        raise ValueError(
            "Lengths of logits, weights, and targets must be the same "
            f"{len(logits)}, {len(weights)}, {len(targets)}."
        )
    with ops.name_scope(name, "sequence_loss_by_example", logits + targets + weights):
        log_perps = []
        for logit, target, weight in zip(logits, targets, weights):
            if softmax_loss_function is None:
                target = array_ops.reshape(target, [-1])
                crossent = nn_ops.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logit)
            else:
                crossent = softmax_loss_function(labels=target, logits=logit)
            log_perps.append(crossent * weight)
        total = math_ops.add_n(log_perps)
        if average_across_timesteps:
            total_size = math_ops.add_n(weights)
            total_size += 1e-12  # against division by 0
            total /= total_size
    return total


def sequence_loss(
    logits,
    targets,
    weights,
    average_across_timesteps=True,
    average_across_batch=True,
    softmax_loss_function=None,
    name=None,
):
    """The sum of sequence_loss_by_example(), or its mean over the batch."""
    with ops.name_scope(name, "sequence_loss", logits + targets + weights):
        cost = math_ops.reduce_sum(
            sequence_loss_by_example(
                logits,
                targets,
                weights,
                average_across_timesteps=average_across_timesteps,
                softmax_loss_function=softmax_loss_function,
            )
        )
        if average_across_batch:
            batch_size = array_ops.shape(targets[0])[0]
            return cost / math_ops.cast(batch_size, cost.dtype)
        return cost


def model_with_buckets(
    encoder_inputs,
    decoder_inputs,
    targets,
    weights,
    buckets,
    seq2seq,
    softmax_loss_function=None,
    per_example_loss=False,
    name=None,
):
    """A network for each of `buckets`, pairs of lengths, with the same weights. Returns their outputs and losses."""
    if len(encoder_inputs) < buckets[-1][0]:
        raise ValueError(
            f"Length of encoder_inputs ({len(encoder_inputs)}) must be at least that of last bucket "
            f"({buckets[-1][0]})."
        )
    if len(targets) < buckets[-1][1]:
        raise ValueError(
            f"Length of targets ({len(targets)}) must be at least that of last bucket ({buckets[-1][1]})."
        )
    if len(weights) < buckets[-1][1]:
        raise ValueError(
            f"Length of weights ({len(weights)}) must be at least that of last bucket ({buckets[-1][1]})."
        )
    losses, outputs = [], []
    loss = sequence_loss_by_example if per_example_loss else sequence_loss
    with ops.name_scope(name, "model_with_buckets", encoder_inputs + decoder_inputs + targets + weights):
        for number, (source, target) in enumerate(buckets):
            with variable_scope.variable_scope(
                variable_scope.get_variable_scope(), reuse=True if number > 0 else None
            ):
                bucket_outputs, _ = seq2seq(encoder_inputs[:source], decoder_inputs[:target])
                outputs.append(bucket_outputs)
                losses.append(
                    loss(
                        bucket_outputs,
                        targets[:target],
                        weights[:target],
                        softmax_loss_function=softmax_loss_function,
                    )
                )
    return outputs, losses
