// Recurrent cells made of cells: layers, dropout, residual connections.
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
        (void)braid_rnn_cell_state_sizes(l->cells[i], &count);
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
    bool is_valid = count > 0 && count <= BRAID_RNN_STATES_MAX;
    for (int i = 0; is_valid && i < count; i++) {
        l.cells[i] = cells[i];
        if (!cells[i]) {
            is_valid = false;
            break;
        }
        int states;
        const int64_t *sizes = braid_rnn_cell_state_sizes(cells[i], &states);
        is_valid = spec.state_count + states <= BRAID_RNN_STATES_MAX;
        if (is_valid) memcpy(spec.state_sizes + spec.state_count, sizes, (size_t)states * sizeof *sizes);
        spec.state_count += states;
        spec.output_size = braid_rnn_cell_output_size(cells[i]);
    }
    if (!is_valid) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "multi_rnn_cell: %d cells; each must be there, and at most %d states are possible",
                         count, BRAID_RNN_STATES_MAX);
        return NULL;
    }
    return braid_rnn_cell_new(g, &spec);
}

// ---- Around one cell ----

typedef struct wrapped {
    braid_rnn_cell *cell;
    braid_out input_keep_prob, output_keep_prob;
} wrapped;

// A wrapper has no scope of its own: the variables are called as without it.
static braid_rnn_cell *wrap(const wrapped *w, const braid_rnn_cell_type *type)
{
    if (!w->cell) return NULL;
    braid_rnn_cell_spec spec = {
        .type = type, .output_size = braid_rnn_cell_output_size(w->cell), .data = w, .data_size = sizeof *w};
    const int64_t *sizes = braid_rnn_cell_state_sizes(w->cell, &spec.state_count);
    memcpy(spec.state_sizes, sizes, (size_t)spec.state_count * sizeof *sizes);
    return braid_rnn_cell_new(braid_rnn_cell_graph(w->cell), &spec);
}

static void build_wrapped(braid_rnn_cell *cell, braid_dtype dtype, int64_t input_size)
{
    const wrapped *w = braid_rnn_cell_data(cell);
    braid_rnn_cell_build(w->cell, dtype, input_size);
}

static braid_out step_dropout(braid_rnn_cell *cell, braid_out input, const braid_out *state, braid_out *next)
{
    const wrapped *w = braid_rnn_cell_data(cell);
    braid_graph *g = braid_rnn_cell_graph(cell);
    if (w->input_keep_prob.op) input = braid_dropout(g, input, w->input_keep_prob);
    const braid_out output = braid_rnn_cell_step(w->cell, input, state, next);
    return w->output_keep_prob.op ? braid_dropout(g, output, w->output_keep_prob) : output;
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

braid_rnn_cell *braid_dropout_wrapper(braid_rnn_cell *cell, braid_out input_keep_prob,
                                      braid_out output_keep_prob)
{
    static const braid_rnn_cell_type type = {NULL, build_wrapped, step_dropout};
    return wrap(&(wrapped){cell, input_keep_prob, output_keep_prob}, &type);
}

braid_rnn_cell *braid_residual_wrapper(braid_rnn_cell *cell)
{
    static const braid_rnn_cell_type type = {NULL, build_residual, step_residual};
    return wrap(&(wrapped){.cell = cell}, &type);
}
