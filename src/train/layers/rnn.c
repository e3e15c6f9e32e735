// Unrolling recurrent cells: one step after the other, or in a loop over arrays of tensors.
#include <braid/rnn.h>

#include "base/alloc.h"
#include "train/common/build.h"
#include <braid/control.h>
#include <braid/tensor_array.h>
#include <braid/variable_scope.h>
#include <string.h>

// A network while it is built.
typedef struct network {
    braid_graph *graph;
    braid_rnn_cell *cell;
    int state_count;
    braid_out lengths;                          // [batch] int32; op NULL: all steps
    braid_out zero_output;                      // with `lengths`
    braid_out steps, limit;                     // of a loop: how many there are, how many are run
    braid_tensor_array inputs, outputs;         // of a loop, without the flow of the outputs
    braid_out states[BRAID_RNN_STATES_MAX + 2]; // of a loop: time, flow, states
} network;

// ---- One step ----

// Where a row has ended at `time`, its old value, else the new one.
static braid_out unless_ended(braid_graph *g, braid_out ended, braid_out old, braid_out next)
{
    return train_node3(g, "Select", NULL, ended, old, next);
}

static braid_out build_step(const network *n, braid_out time, braid_out input, const braid_out *state,
                            braid_out *next)
{
    braid_out made[BRAID_RNN_STATES_MAX] = {0};
    braid_out output = braid_rnn_cell_step(n->cell, input, state, made);
    if (n->lengths.op && output.op) {
        braid_graph *g = n->graph;
        braid_out ended = train_node2(g, "GreaterEqual", NULL, time, n->lengths);
        output = unless_ended(g, ended, n->zero_output, output);
        for (int i = 0; i < n->state_count; i++)
            made[i] = unless_ended(g, ended, state[i], made[i]);
    }
    memcpy(next, made, (size_t)n->state_count * sizeof *next);
    return output;
}

// Whether x may be of a type and shape.
static bool may_be(braid_out x, braid_dtype dtype, braid_shape shape)
{
    if (!x.op || train_base_dtype(braid_out_dtype(x)) != dtype) return false;
    const braid_shape known = braid_out_shape(x);
    bool fits = known.rank < 0 || known.rank == shape.rank;
    for (int i = 0; fits && i < known.rank; i++)
        fits = known.dims[i] < 0 || shape.dims[i] < 0 || known.dims[i] == shape.dims[i];
    return fits;
}

static bool check_lengths(const network *n, braid_out lengths, int64_t batch)
{
    if (may_be(lengths, BRAID_INT32, BRAID_SHAPE(batch)) || may_be(lengths, BRAID_INT64, BRAID_SHAPE(batch)))
        return true;
    braid_graph_fail(n->graph, BRAID_INVALID_ARGUMENT,
                     "rnn: sequence_length '%s' is not a vector of int32 or int64 with one element for each "
                     "row of the batch",
                     braid_op_name(lengths.op));
    return false;
}

static bool check_state(const network *n, const braid_out *state, braid_dtype dtype, int64_t batch)
{
    const braid_rnn_state *states = braid_rnn_cell_states(n->cell, &(int){0});
    for (int i = 0; state && i < n->state_count; i++) {
        if (may_be(state[i], dtype, BRAID_SHAPE(batch, states[i].size))) continue;
        braid_graph_fail(
            n->graph, BRAID_INVALID_ARGUMENT,
            "rnn: the initial state %d, '%s', is not %s [batch, %lld] with the batch of the inputs", i,
            state[i].op ? braid_op_name(state[i].op) : "none", braid_dtype_name(dtype),
            (long long)states[i].size);
        return false;
    }
    return true;
}

// Checks the inputs of a step and makes the first states and the variables. False: the graph has failed.
// The axes are of the input.
static bool begin(network *n, braid_rnn_cell *cell, braid_out input, int batch_axis, int feature_axis,
                  const braid_rnn_options *o)
{
    n->graph = braid_rnn_cell_graph(cell);
    n->cell = cell;
    if (!input.op) {
        braid_graph_fail(n->graph, BRAID_INVALID_ARGUMENT, "rnn: no inputs");
        return false;
    }
    (void)braid_rnn_cell_states(cell, &n->state_count);
    const braid_shape shape = braid_out_shape(input);
    if (shape.rank != feature_axis + 1 || shape.dims[feature_axis] < 0) {
        braid_graph_fail(n->graph, BRAID_INVALID_ARGUMENT,
                         "rnn: the input '%s' must have %d dimensions, the last of which is known",
                         braid_op_name(input.op), feature_axis + 1);
        return false;
    }
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(input));
    const int64_t batch = shape.dims[batch_axis];
    if (o->sequence_length.op && !check_lengths(n, o->sequence_length, batch)) return false;
    if (!check_state(n, o->initial_state, dtype, batch)) return false;
    braid_rnn_cell_build(cell, dtype, shape.dims[feature_axis]);
    if (o->sequence_length.op) n->lengths = braid_cast(n->graph, o->sequence_length, BRAID_INT32);
    return true;
}

// The first states, and zeros [batch, output size] for rows that have ended. `batch_axis`: of the input.
static void make_zeros(network *n, const braid_rnn_options *o, braid_out input, int batch_axis,
                       braid_out *states)
{
    braid_graph *g = n->graph;
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(input));
    const int64_t known = braid_out_shape(input).dims[batch_axis];
    const braid_out batch = known >= 0 ? braid_const_int32(g, "batch_size", (int32_t)known)
                                       : train_element(g, train_node1(g, "Shape", NULL, input), batch_axis);
    if (o->initial_state)
        memcpy(states, o->initial_state, (size_t)n->state_count * sizeof *states);
    else
        braid_rnn_cell_zero_state(n->cell, batch, dtype, states);
    if (n->lengths.op) n->zero_output = train_zero_rows(g, batch, braid_rnn_cell_output_size(n->cell), dtype);
}

// ---- Static ----

void braid_static_rnn(braid_rnn_cell *cell, const braid_out *inputs, int count,
                      const braid_rnn_options *options, braid_out *outputs, braid_out *final_state)
{
    const braid_rnn_options o = options ? *options : (braid_rnn_options){0};
    network n = {0};
    for (int i = 0; outputs && i < count; i++)
        outputs[i] = BRAID_NONE;
    if (!cell) return; // the graph has failed
    braid_graph *g = braid_rnn_cell_graph(cell);
    if (count < 1 || !inputs || !outputs) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "static_rnn: no inputs, or no room for the outputs");
        return;
    }
    (void)braid_push_variable_scope(g, o.name ? o.name : "rnn", NULL);
    if (begin(&n, cell, inputs[0], 0, 1, &o)) {
        braid_out states[BRAID_RNN_STATES_MAX];
        make_zeros(&n, &o, inputs[0], 0, states);
        for (int i = 0; i < count; i++) {
            braid_out time = n.lengths.op ? braid_const_int32(g, "time", i) : BRAID_NONE;
            outputs[i] = build_step(&n, time, inputs[i], states, states);
        }
        if (final_state) memcpy(final_state, states, (size_t)n.state_count * sizeof *states);
    }
    braid_pop_variable_scope(g);
}

// ---- Dynamic ----

static braid_out goes_on(void *arg, braid_graph *g, const braid_out *vars)
{
    const network *n = arg;
    return train_node2(g, "Less", NULL, vars[0], n->limit);
}

static void loop_step(void *arg, braid_graph *g, const braid_out *vars, braid_out *next)
{
    const network *n = arg;
    braid_out input = braid_tensor_array_read(g, n->inputs, vars[0]);
    braid_out output = build_step(n, vars[0], input, vars + 2, next + 2);
    braid_tensor_array outputs = n->outputs;
    outputs.flow = vars[1];
    next[1] = braid_tensor_array_write(g, outputs, vars[0], output).flow;
    next[0] = train_op_number(g, "Add", "add", vars[0], 1);
}

// Swaps the first two dimensions: [batch, time, ...] and [time, batch, ...].
static braid_out swap_batch_and_time(braid_graph *g, braid_out x)
{
    const int32_t order[] = {1, 0, 2};
    const char *scope = braid_push_name_scope(g, "transpose");
    braid_out perm = braid_const_int32s(g, "perm", order, 3);
    braid_pop_name_scope(g);
    return train_node2(g, "Transpose", scope, x, perm);
}

// How many steps run: as many as the longest row has, but at least one, from which the arrays learn the shape
// of their elements.
static braid_out step_limit(const network *n)
{
    braid_graph *g = n->graph;
    if (!n->lengths.op) return n->steps;
    braid_out longest = braid_reduce(g, "Max", n->lengths, &(int32_t){0}, 1, false);
    return braid_minimum(g, n->steps, train_number_op(g, "Maximum", "Maximum", 1, longest));
}

static void make_arrays(network *n, braid_out x, braid_shape shape)
{
    braid_graph *g = n->graph;
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(x));
    n->steps = train_first_of(g, train_node1(g, "Shape", NULL, x));
    n->limit = step_limit(n);
    const char *scope = braid_push_name_scope(g, "dynamic_rnn"), *const base = scope ? scope : "";
    braid_pop_name_scope(g);
    char *output_name = bd_asprintf("%soutput_0", base), *input_name = bd_asprintf("%sinput_0", base);
    n->outputs =
        braid_tensor_array_new(g, dtype, BRAID_SHAPE(shape.dims[1], braid_rnn_cell_output_size(n->cell)),
                               n->steps, &(braid_tensor_array_options){.shared_name = output_name});
    n->inputs = braid_tensor_array_new(g, dtype, BRAID_SHAPE(shape.dims[1], shape.dims[2]), n->steps,
                                       &(braid_tensor_array_options){.shared_name = input_name});
    bd_free(output_name);
    bd_free(input_name);
    n->inputs = braid_tensor_array_unstack(g, n->inputs, x);
}

// `x` is [time, batch, depth]; returns the outputs in that order.
static braid_out run_loop(network *n, const braid_rnn_options *o, braid_out x)
{
    braid_graph *g = n->graph;
    const braid_shape shape = braid_out_shape(x);
    make_arrays(n, x, shape);
    n->states[0] = braid_const_int32(g, "time", 0);
    n->states[1] = n->outputs.flow;
    const braid_loop loop = {.condition = goes_on,
                             .body = loop_step,
                             .arg = n,
                             .parallel_iterations = o->parallel_iterations ? o->parallel_iterations : 32};
    braid_while(g, &loop, n->states, n->state_count + 2, n->states);
    braid_tensor_array outputs = n->outputs;
    outputs.flow = n->states[1];
    braid_out all = braid_tensor_array_stack(g, outputs);
    braid_set_shape(all, BRAID_SHAPE(shape.dims[0], shape.dims[1], braid_rnn_cell_output_size(n->cell)));
    return all;
}

braid_out braid_dynamic_rnn(braid_rnn_cell *cell, braid_out inputs, const braid_rnn_options *options,
                            braid_out *final_state)
{
    const braid_rnn_options o = options ? *options : (braid_rnn_options){0};
    network n = {0};
    braid_out outputs = BRAID_NONE;
    if (!cell) return outputs; // the graph has failed
    braid_graph *g = braid_rnn_cell_graph(cell);
    (void)braid_push_variable_scope(g, o.name ? o.name : "rnn", NULL);
    if (begin(&n, cell, inputs, o.time_major, 2, &o)) {
        braid_out time_major = o.time_major ? inputs : swap_batch_and_time(g, inputs);
        make_zeros(&n, &o, inputs, o.time_major, n.states + 2);
        outputs = run_loop(&n, &o, time_major);
        if (outputs.op && !o.time_major) outputs = swap_batch_and_time(g, outputs);
        if (final_state) memcpy(final_state, n.states + 2, (size_t)n.state_count * sizeof *final_state);
    }
    braid_pop_variable_scope(g);
    return outputs;
}
