// Recurrent cells, with the variables and the arithmetic of TensorFlow's.
#include <braid/rnn.h>

#include "base/alloc.h"
#include "train/common/build.h"
#include <braid/variable_scope.h>
#include <string.h>

struct braid_rnn_cell {
    braid_graph *graph;
    braid_rnn_cell_spec spec;
    bool is_built;
    int64_t input_size; // once it is built
    void *data;
};

static void cell_free(void *what)
{
    braid_rnn_cell *cell = what;
    bd_free(cell->data);
    bd_free(cell);
}

braid_rnn_cell *braid_rnn_cell_new(braid_graph *g, const braid_rnn_cell_spec *spec)
{
    bool is_valid =
        spec->state_count >= 0 && spec->state_count <= BRAID_RNN_STATES_MAX && spec->output_size > 0;
    for (int i = 0; is_valid && i < spec->state_count; i++)
        is_valid = spec->state_sizes[i] > 0;
    if (!is_valid)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "%s: sizes must be positive, and at most %d states are possible",
                         spec->type->name ? spec->type->name : "rnn cell", BRAID_RNN_STATES_MAX);
    if (!g || braid_graph_status(g, NULL)) return NULL;
    braid_rnn_cell *cell = bd_calloc(1, sizeof *cell);
    cell->graph = g;
    cell->spec = *spec;
    if (spec->data_size) cell->data = bd_memdup(spec->data, spec->data_size);
    braid_graph_own(g, cell, cell_free);
    return cell;
}

braid_graph *braid_rnn_cell_graph(const braid_rnn_cell *cell)
{
    return cell ? cell->graph : NULL;
}

void *braid_rnn_cell_data(braid_rnn_cell *cell)
{
    return cell->data;
}

int64_t braid_rnn_cell_output_size(const braid_rnn_cell *cell)
{
    return cell->spec.output_size;
}

const int64_t *braid_rnn_cell_state_sizes(const braid_rnn_cell *cell, int *count)
{
    *count = cell->spec.state_count;
    return cell->spec.state_sizes;
}

void braid_rnn_cell_zero_state(braid_rnn_cell *cell, braid_out batch_size, braid_dtype dtype,
                               braid_out *states)
{
    if (!cell || !batch_size.op) return;
    (void)braid_push_name_scope(cell->graph, "zero_state");
    for (int i = 0; i < cell->spec.state_count; i++)
        states[i] = train_zero_rows(cell->graph, batch_size, cell->spec.state_sizes[i], dtype);
    braid_pop_name_scope(cell->graph);
}

void braid_rnn_cell_build(braid_rnn_cell *cell, braid_dtype dtype, int64_t input_size)
{
    if (!cell || cell->is_built) return;
    cell->is_built = true;
    cell->input_size = input_size;
    const char *name = cell->spec.type->name;
    const braid_variable_scope_options unique = {.unique = true}; // as TensorFlow's layers
    if (name) (void)braid_push_variable_scope(cell->graph, name, &unique);
    if (cell->spec.type->build) cell->spec.type->build(cell, dtype, input_size);
    if (name) braid_pop_variable_scope(cell->graph);
}

static const char *name_of(const braid_rnn_cell *cell)
{
    return cell->spec.type->name ? cell->spec.type->name : "rnn cell";
}

// Whether x is [batch, size], as far as is known; else the graph fails.
static bool is_matrix(const braid_rnn_cell *cell, const char *what, braid_out x, int64_t size)
{
    const braid_shape shape = x.op ? braid_out_shape(x) : BRAID_SCALAR;
    if (shape.rank < 0 || (shape.rank == 2 && (shape.dims[1] < 0 || shape.dims[1] == size))) return true;
    braid_graph_fail(cell->graph, BRAID_INVALID_ARGUMENT, "%s: %s '%s' is not [batch, %lld]", name_of(cell),
                     what, x.op ? braid_op_name(x.op) : "none", (long long)size);
    return false;
}

static bool may_step(const braid_rnn_cell *cell, braid_out input, const braid_out *state)
{
    if (!cell->is_built) {
        braid_graph_fail(cell->graph, BRAID_FAILED_PRECONDITION,
                         "%s: a step needs the variables of braid_rnn_cell_build", name_of(cell));
        return false;
    }
    bool fits = is_matrix(cell, "the input", input, cell->input_size);
    for (int i = 0; fits && i < cell->spec.state_count; i++)
        fits = is_matrix(cell, "the state", state[i], cell->spec.state_sizes[i]);
    return fits;
}

braid_out braid_rnn_cell_step(braid_rnn_cell *cell, braid_out input, const braid_out *state, braid_out *next)
{
    if (!cell || !input.op || !may_step(cell, input, state)) return BRAID_NONE;
    const char *name = cell->spec.type->name;
    if (name) (void)braid_push_name_scope(cell->graph, name);
    const braid_out output = cell->spec.type->step(cell, input, state, next);
    if (name) braid_pop_name_scope(cell->graph);
    return output;
}

// ---- Linear maps ----

// kernel and bias: x -> x kernel + bias
typedef struct linear {
    braid_out kernel, bias;
} linear;

static const braid_initializer inherited_initializer; // the variable scope's, else Glorot's

static linear make_linear(braid_graph *g, braid_dtype dtype, int64_t in, int64_t out, float bias)
{
    linear l = {
        .kernel =
            braid_variable_get(g, "kernel", dtype, BRAID_SHAPE(in, out), inherited_initializer, true).read};
    l.bias =
        braid_variable_get(g, "bias", dtype, BRAID_SHAPE(out), braid_constant_initializer(bias), true).read;
    return l;
}

// [a, b] kernel + bias
static braid_out apply_linear(braid_graph *g, const linear *l, braid_out a, braid_out b)
{
    const braid_out parts[2] = {a, b};
    const char *scope = braid_push_name_scope(g, "concat");
    braid_out axis = braid_const_int32(g, "axis", 1);
    braid_pop_name_scope(g);
    braid_op_desc *d = braid_op_begin(g, "ConcatV2", scope);
    braid_op_input_list(d, parts, 2);
    braid_op_input(d, axis);
    return braid_bias_add(g, braid_matmul(g, braid_op_end_out(d), l->kernel), l->bias);
}

// x [batch, count * n] as `parts` [count] of [batch, n]
static void split(braid_graph *g, braid_out x, braid_out *parts, int count)
{
    const char *scope = braid_push_name_scope(g, "split");
    braid_out axis = braid_const_int32(g, "split_dim", 1);
    braid_pop_name_scope(g);
    braid_op_desc *d = braid_op_begin(g, "Split", scope);
    braid_op_input(d, axis);
    braid_op_input(d, x);
    braid_op_attr_int(d, "num_split", count);
    braid_op *op = braid_op_end(d);
    for (int i = 0; i < count; i++)
        parts[i] = braid_output(op, i);
}

// ---- The basic cell and the gated recurrent unit ----

typedef struct units {
    int64_t count;
    linear gates, candidate; // the basic cell has no gates
} units;

static void build_basic_rnn(braid_rnn_cell *cell, braid_dtype dtype, int64_t input_size)
{
    units *u = cell->data;
    u->candidate = make_linear(cell->graph, dtype, input_size + u->count, u->count, 0);
}

static braid_out step_basic_rnn(braid_rnn_cell *cell, braid_out input, const braid_out *state,
                                braid_out *next)
{
    const units *u = cell->data;
    next[0] = braid_tanh(cell->graph, apply_linear(cell->graph, &u->candidate, input, state[0]));
    return next[0];
}

static void build_gru(braid_rnn_cell *cell, braid_dtype dtype, int64_t input_size)
{
    units *u = cell->data;
    (void)braid_push_variable_scope(cell->graph, "gates", NULL);
    u->gates = make_linear(cell->graph, dtype, input_size + u->count, 2 * u->count, 1);
    braid_pop_variable_scope(cell->graph);
    (void)braid_push_variable_scope(cell->graph, "candidate", NULL);
    u->candidate = make_linear(cell->graph, dtype, input_size + u->count, u->count, 0);
    braid_pop_variable_scope(cell->graph);
}

static braid_out step_gru(braid_rnn_cell *cell, braid_out input, const braid_out *state, braid_out *next)
{
    braid_graph *g = cell->graph;
    const units *u = cell->data;
    braid_out gates[2]; // reset, update
    split(g, braid_sigmoid(g, apply_linear(g, &u->gates, input, state[0])), gates, 2);
    braid_out reset = braid_mul(g, gates[0], state[0]);
    braid_out candidate = braid_tanh(g, apply_linear(g, &u->candidate, input, reset));
    braid_out kept = braid_mul(g, gates[1], state[0]);
    braid_out rest = train_number_op(g, "Sub", "sub", 1, gates[1]);
    next[0] = braid_add(g, kept, braid_mul(g, rest, candidate));
    return next[0];
}

static braid_rnn_cell *units_cell(braid_graph *g, const braid_rnn_cell_type *type, int64_t count)
{
    const units u = {.count = count};
    return braid_rnn_cell_new(g, &(braid_rnn_cell_spec){.type = type,
                                                        .output_size = count,
                                                        .state_count = 1,
                                                        .state_sizes = {count},
                                                        .data = &u,
                                                        .data_size = sizeof u});
}

braid_rnn_cell *braid_basic_rnn_cell(braid_graph *g, int64_t count)
{
    static const braid_rnn_cell_type type = {"basic_rnn_cell", build_basic_rnn, step_basic_rnn};
    return units_cell(g, &type, count);
}

braid_rnn_cell *braid_gru_cell(braid_graph *g, int64_t count)
{
    static const braid_rnn_cell_type type = {"gru_cell", build_gru, step_gru};
    return units_cell(g, &type, count);
}

// ---- Long short-term memory ----

enum {
    INPUT,
    CANDIDATE,
    FORGET,
    OUTPUT,
    PARTS
};

typedef struct lstm {
    int64_t count;
    braid_lstm_options options;
    linear gates;               // of input, candidate, forget, output
    braid_out peepholes[PARTS]; // op NULL: none
    braid_out projection;       // op NULL: none
} lstm;

static int64_t lstm_outputs(const lstm *l)
{
    return l->options.num_proj ? l->options.num_proj : l->count;
}

static void build_lstm(braid_rnn_cell *cell, braid_dtype dtype, int64_t input_size)
{
    static const char *const names[PARTS] = {
        [INPUT] = "w_i_diag", [FORGET] = "w_f_diag", [OUTPUT] = "w_o_diag"};
    static const int order[] = {FORGET, INPUT, OUTPUT};
    lstm *l = cell->data;
    braid_graph *g = cell->graph;
    l->gates = make_linear(g, dtype, input_size + lstm_outputs(l), PARTS * l->count, 0);
    for (int i = 0; l->options.use_peepholes && i < 3; i++)
        l->peepholes[order[i]] =
            braid_variable_get(g, names[order[i]], dtype, BRAID_SHAPE(l->count), inherited_initializer, true)
                .read;
    if (!l->options.num_proj) return;
    (void)braid_push_variable_scope(g, "projection", NULL);
    const braid_shape shape = BRAID_SHAPE(l->count, l->options.num_proj);
    l->projection = braid_variable_get(g, "kernel", dtype, shape, inherited_initializer, true).read;
    braid_pop_variable_scope(g);
}

// The gate's sum with what it sees of the memory.
static braid_out peep(braid_graph *g, const lstm *l, int gate, braid_out sum, braid_out memory)
{
    return l->peepholes[gate].op ? braid_add(g, sum, braid_mul(g, l->peepholes[gate], memory)) : sum;
}

static braid_out clip(braid_graph *g, braid_out x, float bound)
{
    return bound > 0 ? braid_clip_by_value(g, x, -(double)bound, (double)bound) : x;
}

static braid_out step_lstm(braid_rnn_cell *cell, braid_out input, const braid_out *state, braid_out *next)
{
    braid_graph *g = cell->graph;
    const lstm *l = cell->data;
    const braid_out memory = state[0];
    braid_out parts[PARTS];
    split(g, apply_linear(g, &l->gates, input, state[1]), parts, PARTS);
    braid_out forget = train_op_number(g, "Add", "add", parts[FORGET], (double)l->options.forget_bias);
    forget = braid_sigmoid(g, peep(g, l, FORGET, forget, memory));
    braid_out take = braid_sigmoid(g, peep(g, l, INPUT, parts[INPUT], memory));
    braid_out kept = braid_mul(g, forget, memory);
    braid_out c = braid_add(g, kept, braid_mul(g, take, braid_tanh(g, parts[CANDIDATE])));
    c = clip(g, c, l->options.cell_clip);
    braid_out show = braid_sigmoid(g, peep(g, l, OUTPUT, parts[OUTPUT], c));
    braid_out h = braid_mul(g, show, braid_tanh(g, c));
    if (l->projection.op) h = clip(g, braid_matmul(g, h, l->projection), l->options.proj_clip);
    next[0] = c;
    next[1] = h;
    return h;
}

static braid_rnn_cell *make_lstm(braid_graph *g, const braid_rnn_cell_type *type, const lstm *l)
{
    return braid_rnn_cell_new(g, &(braid_rnn_cell_spec){.type = type,
                                                        .output_size = lstm_outputs(l),
                                                        .state_count = 2,
                                                        .state_sizes = {l->count, lstm_outputs(l)},
                                                        .data = l,
                                                        .data_size = sizeof *l});
}

braid_lstm_options braid_lstm_defaults(void)
{
    return (braid_lstm_options){.forget_bias = 1};
}

braid_rnn_cell *braid_basic_lstm_cell(braid_graph *g, int64_t count, float forget_bias)
{
    static const braid_rnn_cell_type type = {"basic_lstm_cell", build_lstm, step_lstm};
    return make_lstm(g, &type, &(lstm){.count = count, .options = {.forget_bias = forget_bias}});
}

braid_rnn_cell *braid_lstm_cell(braid_graph *g, int64_t count, const braid_lstm_options *options)
{
    static const braid_rnn_cell_type type = {"lstm_cell", build_lstm, step_lstm};
    return make_lstm(g, &type,
                     &(lstm){.count = count, .options = options ? *options : braid_lstm_defaults()});
}
