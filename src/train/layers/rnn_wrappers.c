// Recurrent cells made of cells: layers, dropout, residual connections, devices.
#include <braid/rnn.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "train/common/build.h"
#include <braid/variable_scope.h>
#include <string.h>

// ---- Layers ----

typedef struct layers {
    int count;
    braid_rnn_cell *cells[BRAID_RNN_STATES_MAX];
} layers;

static void build_layers(braid_rnn_cell *cell, braid_dtype dtype, int64_t input_size)
{
    const layers *l = braid_rnn_cell_data(cell);
    for (int i = 0; i < l->count; i++) {
        char *name = bd_asprintf("cell_%d", i);
        (void)braid_push_variable_scope(braid_rnn_cell_graph(cell), name, NULL);
        braid_rnn_cell_build(l->cells[i], dtype, input_size);
        braid_pop_variable_scope(braid_rnn_cell_graph(cell));
        bd_free(name);
        input_size = braid_rnn_cell_output_size(l->cells[i]);
    }
}

static braid_out step_layers(braid_rnn_cell *cell, braid_out input, const braid_out *state, braid_out *next)
{
    const layers *l = braid_rnn_cell_data(cell);
    for (int i = 0; i < l->count; i++) {
        int count;
        (void)braid_rnn_cell_states(l->cells[i], &count);
        char *name = bd_asprintf("cell_%d", i);
        (void)braid_push_name_scope(braid_rnn_cell_graph(cell), name);
        input = braid_rnn_cell_step(l->cells[i], input, state, next);
        braid_pop_name_scope(braid_rnn_cell_graph(cell));
        bd_free(name);
        state += count;
        next += count;
    }
    return input;
}

braid_rnn_cell *braid_multi_rnn_cell(braid_graph *g, braid_rnn_cell *const *cells, int count)
{
    static const braid_rnn_cell_type type = {"multi_rnn_cell", build_layers, step_layers};
    layers l = {.count = count};
    braid_rnn_cell_spec spec = {.type = &type, .data = &l, .data_size = sizeof l};
    bool is_valid = cells && count > 0 && count <= BRAID_RNN_STATES_MAX;
    for (int i = 0; is_valid && i < count; i++) {
        l.cells[i] = cells[i];
        if (braid_rnn_cell_graph(cells[i]) != g) {
            is_valid = false;
            break;
        }
        int states;
        const braid_rnn_state *each = braid_rnn_cell_states(cells[i], &states);
        is_valid = spec.state_count + states <= BRAID_RNN_STATES_MAX;
        if (is_valid) memcpy(spec.states + spec.state_count, each, (size_t)states * sizeof *each);
        spec.state_count += states;
        spec.output_size = braid_rnn_cell_output_size(cells[i]);
    }
    if (!is_valid) {
        braid_graph_fail(
            g, BRAID_INVALID_ARGUMENT,
            "multi_rnn_cell: %d cells; each must be there and of the graph, and at most %d states are possible",
            count, BRAID_RNN_STATES_MAX);
        return NULL;
    }
    return braid_rnn_cell_new(g, &spec);
}

// ---- Around one cell ----

typedef struct wrapped {
    braid_rnn_cell *cell;
    braid_dropout_options keep;
    braid_out masks[2 + BRAID_RNN_STATES_MAX]; // of variational dropout: of the input, the output, the states
    char *device;
} wrapped;

// A wrapper has no scope of its own: the variables are called as without it.
static braid_rnn_cell *wrap(const wrapped *w, const braid_rnn_cell_type *type)
{
    if (!w->cell) return NULL;
    braid_rnn_cell_spec spec = {
        .type = type, .output_size = braid_rnn_cell_output_size(w->cell), .data = w, .data_size = sizeof *w};
    const braid_rnn_state *states = braid_rnn_cell_states(w->cell, &spec.state_count);
    memcpy(spec.states, states, (size_t)spec.state_count * sizeof *states);
    return braid_rnn_cell_new(braid_rnn_cell_graph(w->cell), &spec);
}

static void build_wrapped(braid_rnn_cell *cell, braid_dtype dtype, int64_t input_size)
{
    const wrapped *w = braid_rnn_cell_data(cell);
    braid_rnn_cell_build(w->cell, dtype, input_size);
}

// Draws 1 (kept) or 0 for each column.
static braid_out draw_mask(braid_graph *g, braid_dtype dtype, int64_t size, braid_out keep)
{
    if (!keep.op) return BRAID_NONE;
    const braid_out shape = train_const_shape(g, "shape", BRAID_SHAPE(1, size));
    return train_node1(g, "Floor", NULL, braid_add(g, train_random_uniform(g, dtype, shape, 0, 1), keep));
}

static void build_dropout(braid_rnn_cell *cell, braid_dtype dtype, int64_t input_size)
{
    wrapped *w = braid_rnn_cell_data(cell);
    braid_graph *g = braid_rnn_cell_graph(cell);
    build_wrapped(cell, dtype, input_size);
    if (!w->keep.variational) return;
    int count;
    const braid_rnn_state *states = braid_rnn_cell_states(cell, &count);
    (void)braid_push_name_scope(g, "dropout_masks");
    w->masks[0] = draw_mask(g, dtype, input_size, w->keep.input_keep_prob);
    w->masks[1] = draw_mask(g, dtype, braid_rnn_cell_output_size(cell), w->keep.output_keep_prob);
    for (int i = 0; i < count; i++)
        if (!states[i].is_memory)
            w->masks[2 + i] = draw_mask(g, dtype, states[i].size, w->keep.state_keep_prob);
    braid_pop_name_scope(g);
}

static braid_out drop(braid_graph *g, const wrapped *w, int mask, braid_out x, braid_out keep)
{
    if (!keep.op) return x;
    return w->keep.variational ? braid_mul(g, braid_div(g, x, keep), w->masks[mask])
                               : braid_dropout(g, x, keep);
}

static braid_out step_dropout(braid_rnn_cell *cell, braid_out input, const braid_out *state, braid_out *next)
{
    const wrapped *w = braid_rnn_cell_data(cell);
    braid_graph *g = braid_rnn_cell_graph(cell);
    int count;
    const braid_rnn_state *states = braid_rnn_cell_states(cell, &count);
    input = drop(g, w, 0, input, w->keep.input_keep_prob);
    const braid_out output = braid_rnn_cell_step(w->cell, input, state, next);
    for (int i = 0; i < count && output.op; i++)
        if (!states[i].is_memory) next[i] = drop(g, w, 2 + i, next[i], w->keep.state_keep_prob);
    return drop(g, w, 1, output, w->keep.output_keep_prob);
}

static void build_residual(braid_rnn_cell *cell, braid_dtype dtype, int64_t input_size)
{
    const int64_t size = braid_rnn_cell_output_size(cell);
    if (size != input_size)
        braid_graph_fail(braid_rnn_cell_graph(cell), BRAID_INVALID_ARGUMENT,
                         "residual_wrapper: the input has %lld columns and the output %lld",
                         (long long)input_size, (long long)size);
    build_wrapped(cell, dtype, input_size);
}

static braid_out step_residual(braid_rnn_cell *cell, braid_out input, const braid_out *state, braid_out *next)
{
    const wrapped *w = braid_rnn_cell_data(cell);
    return braid_add(braid_rnn_cell_graph(cell), input, braid_rnn_cell_step(w->cell, input, state, next));
}

static void build_on_device(braid_rnn_cell *cell, braid_dtype dtype, int64_t input_size)
{
    const wrapped *w = braid_rnn_cell_data(cell);
    braid_push_device(braid_rnn_cell_graph(cell), w->device);
    build_wrapped(cell, dtype, input_size);
    braid_pop_device(braid_rnn_cell_graph(cell));
}

static braid_out step_on_device(braid_rnn_cell *cell, braid_out input, const braid_out *state,
                                braid_out *next)
{
    const wrapped *w = braid_rnn_cell_data(cell);
    braid_push_device(braid_rnn_cell_graph(cell), w->device);
    const braid_out output = braid_rnn_cell_step(w->cell, input, state, next);
    braid_pop_device(braid_rnn_cell_graph(cell));
    return output;
}

braid_rnn_cell *braid_dropout_wrapper(braid_rnn_cell *cell, const braid_dropout_options *options)
{
    static const braid_rnn_cell_type type = {NULL, build_dropout, step_dropout};
    wrapped w = {.cell = cell};
    if (options) w.keep = *options;
    return wrap(&w, &type);
}

braid_rnn_cell *braid_residual_wrapper(braid_rnn_cell *cell)
{
    static const braid_rnn_cell_type type = {NULL, build_residual, step_residual};
    return wrap(&(wrapped){.cell = cell}, &type);
}

braid_rnn_cell *braid_device_wrapper(braid_rnn_cell *cell, const char *device)
{
    static const braid_rnn_cell_type type = {NULL, build_on_device, step_on_device};
    if (!cell) return NULL;
    if (!device) {
        braid_graph_fail(braid_rnn_cell_graph(cell), BRAID_INVALID_ARGUMENT, "device_wrapper: no device");
        return NULL;
    }
    char *kept = bd_strdup(device);
    braid_graph_own(braid_rnn_cell_graph(cell), kept, bd_free);
    return wrap(&(wrapped){.cell = cell, .device = kept}, &type);
}
