// Recurrent networks in both directions: one cell runs forwards in time, another backwards.
#include <braid/rnn.h>

#include "base/alloc.h"
#include "train/common/build.h"
#include <braid/variable_scope.h>
#include <string.h>

// The values in the other order of time; within the lengths of the rows, if they are given.
static braid_out reverse(braid_graph *g, braid_out x, int time_axis, braid_out lengths)
{
    if (!x.op) return x;
    const int32_t axis = time_axis;
    if (!lengths.op)
        return train_node2(g, "ReverseV2", NULL, x, braid_const_int32s(g, "ReverseV2/axis", &axis, 1));
    braid_op_desc *d = braid_op_begin(g, "ReverseSequence", NULL);
    braid_op_input(d, x);
    braid_op_input(d, lengths);
    braid_op_attr_int(d, "seq_dim", time_axis);
    braid_op_attr_int(d, "batch_dim", 1 - time_axis);
    return braid_op_end_out(d);
}

// False: the graph has failed.
static bool enter(braid_rnn_cell *const cells[2], const braid_rnn_options *o)
{
    if (!cells || !cells[0] || !cells[1]) {
        braid_graph *g = cells ? braid_rnn_cell_graph(cells[0] ? cells[0] : cells[1]) : NULL;
        if (g) braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "bidirectional_rnn: it needs two cells");
        return false;
    }
    braid_graph *g = braid_rnn_cell_graph(cells[0]);
    if (braid_rnn_cell_graph(cells[1]) != g)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "bidirectional_rnn: its cells are of two graphs");
    return braid_push_variable_scope(g, o->name ? o->name : "bidirectional_rnn", NULL) != NULL;
}

// The options of the network in one direction.
static braid_rnn_options options_of(const braid_rnn_options *o, const braid_bidirectional_states *states,
                                    int direction)
{
    braid_rnn_options one = *o;
    one.name = direction ? "bw" : "fw";
    one.initial_state = states->initial[direction];
    return one;
}

static const braid_bidirectional_states no_states;

void braid_bidirectional_dynamic_rnn(braid_rnn_cell *const cells[2], braid_out inputs,
                                     const braid_rnn_options *options,
                                     const braid_bidirectional_states *states, braid_out outputs[2])
{
    const braid_rnn_options o = options ? *options : (braid_rnn_options){0};
    const braid_bidirectional_states *s = states ? states : &no_states;
    const int time_axis = o.time_major ? 0 : 1;
    outputs[0] = outputs[1] = BRAID_NONE;
    if (!enter(cells, &o)) return;
    braid_graph *g = braid_rnn_cell_graph(cells[0]);
    const braid_rnn_options forward = options_of(&o, s, 0), backward = options_of(&o, s, 1);
    outputs[0] = braid_dynamic_rnn(cells[0], inputs, &forward, s->final[0]);
    const braid_out reversed = reverse(g, inputs, time_axis, o.sequence_length);
    outputs[1] = braid_dynamic_rnn(cells[1], reversed, &backward, s->final[1]);
    outputs[1] = reverse(g, outputs[1], time_axis, o.sequence_length);
    braid_pop_variable_scope(g);
}

// The values [count] of each time in the other order.
static void reverse_list(braid_graph *g, const braid_out *values, int count, braid_out lengths,
                         braid_out *reversed)
{
    for (int i = 0; i < count; i++)
        reversed[i] = lengths.op ? BRAID_NONE : values[count - 1 - i];
    if (!lengths.op) return;
    braid_op_desc *d = braid_op_begin(g, "Pack", "stack");
    braid_op_input_list(d, values, count);
    const braid_out joined = braid_op_end_out(d);
    d = braid_op_begin(g, "Unpack", "unstack");
    braid_op_input(d, reverse(g, joined, 0, lengths));
    braid_op_attr_int(d, "num", count);
    braid_op *parts = braid_op_end(d);
    for (int i = 0; parts && i < count; i++)
        reversed[i] = braid_output(parts, i);
}

static void unroll(braid_rnn_cell *const cells[2], const braid_out *inputs, int count,
                   const braid_rnn_options *o, const braid_bidirectional_states *s, braid_out *outputs)
{
    braid_graph *g = braid_rnn_cell_graph(cells[0]);
    braid_out *reversed = bd_calloc((size_t)count, sizeof *reversed);
    braid_out *back = bd_calloc((size_t)count, sizeof *back);
    const braid_rnn_options forward = options_of(o, s, 0), backward = options_of(o, s, 1);
    braid_static_rnn(cells[0], inputs, count, &forward, outputs, s->final[0]);
    reverse_list(g, inputs, count, o->sequence_length, reversed);
    braid_static_rnn(cells[1], reversed, count, &backward, back, s->final[1]);
    reverse_list(g, back, count, o->sequence_length, reversed);
    for (int i = 0; i < count; i++)
        outputs[i] = braid_concat(g, (const braid_out[]){outputs[i], reversed[i]}, 2, 1);
    bd_free(reversed);
    bd_free(back);
}

void braid_static_bidirectional_rnn(braid_rnn_cell *const cells[2], const braid_out *inputs, int count,
                                    const braid_rnn_options *options,
                                    const braid_bidirectional_states *states, braid_out *outputs)
{
    const braid_rnn_options o = options ? *options : (braid_rnn_options){0};
    for (int i = 0; outputs && i < count; i++)
        outputs[i] = BRAID_NONE;
    if (!enter(cells, &o)) return;
    braid_graph *g = braid_rnn_cell_graph(cells[0]);
    if (inputs && outputs && count > 0)
        unroll(cells, inputs, count, &o, states ? states : &no_states, outputs);
    else
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "static_bidirectional_rnn: no inputs, or no room for the outputs");
    braid_pop_variable_scope(g);
}
