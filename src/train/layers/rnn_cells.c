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
    braid_dtype dtype;  // likewise
    char *own_name;     // NULL: the type's
    void *data;
};

static void cell_free(void *what)
{
    braid_rnn_cell *cell = what;
    bd_free(cell->own_name);
    bd_free(cell->data);
    bd_free(cell);
}

braid_rnn_cell *braid_rnn_cell_new(braid_graph *g, const braid_rnn_cell_spec *spec)
{
    bool is_valid =
        spec->state_count >= 0 && spec->state_count <= BRAID_RNN_STATES_MAX && spec->output_size > 0;
    for (int i = 0; is_valid && i < spec->state_count; i++)
        is_valid = spec->states[i].size > 0;
    if (!is_valid)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "%s: sizes must be positive, and at most %d states are possible",
                         spec->type->name ? spec->type->name : "rnn cell", BRAID_RNN_STATES_MAX);
    if (!g || braid_graph_status(g, NULL)) return NULL;
    braid_rnn_cell *cell = bd_calloc(1, sizeof *cell);
    cell->graph = g;
    cell->spec = *spec;
    cell->own_name = spec->name ? bd_strdup(spec->name) : NULL;
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

const braid_rnn_state *braid_rnn_cell_states(const braid_rnn_cell *cell, int *count)
{
    *count = cell->spec.state_count;
    return cell->spec.states;
}

void braid_rnn_cell_zero_state(braid_rnn_cell *cell, braid_out batch_size, braid_dtype dtype,
                               braid_out *states)
{
    if (!cell || !batch_size.op) return;
    (void)braid_push_name_scope(cell->graph, "zero_state");
    for (int i = 0; i < cell->spec.state_count; i++)
        states[i] = train_zero_rows(cell->graph, batch_size, cell->spec.states[i].size, dtype);
    braid_pop_name_scope(cell->graph);
}

// The scope of its nodes; NULL: a wrapper, which has none.
static const char *scope_of(const braid_rnn_cell *cell)
{
    return cell->own_name ? cell->own_name : cell->spec.type->name;
}

void braid_rnn_cell_build(braid_rnn_cell *cell, braid_dtype dtype, int64_t input_size)
{
    if (!cell || cell->is_built) return;
    cell->is_built = true;
    cell->input_size = input_size;
    cell->dtype = dtype;
    const char *name = scope_of(cell);
    const braid_variable_scope_options unique = {.unique = !cell->own_name}; // as TensorFlow's layers
    if (name) (void)braid_push_variable_scope(cell->graph, name, &unique);
    if (cell->spec.type->build) cell->spec.type->build(cell, dtype, input_size);
    if (name) braid_pop_variable_scope(cell->graph);
}

static const char *name_of(const braid_rnn_cell *cell)
{
    return scope_of(cell) ? scope_of(cell) : "rnn cell";
}

// Whether x is [batch, size] of the cell's type, as far as is known; else the graph fails.
static bool is_matrix(const braid_rnn_cell *cell, const char *what, braid_out x, int64_t size)
{
    const braid_shape shape = x.op ? braid_out_shape(x) : BRAID_SCALAR;
    const bool fits = shape.rank < 0 || (shape.rank == 2 && (shape.dims[1] < 0 || shape.dims[1] == size));
    if (fits && train_base_dtype(braid_out_dtype(x)) == cell->dtype) return true;
    braid_graph_fail(cell->graph, BRAID_INVALID_ARGUMENT, "%s: %s '%s' is not %s [batch, %lld]",
                     name_of(cell), what, x.op ? braid_op_name(x.op) : "none", braid_dtype_name(cell->dtype),
                     (long long)size);
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
        fits = is_matrix(cell, "the state", state[i], cell->spec.states[i].size);
    return fits;
}

braid_out braid_rnn_cell_step(braid_rnn_cell *cell, braid_out input, const braid_out *state, braid_out *next)
{
    if (!cell || !may_step(cell, input, state)) return BRAID_NONE;
    const char *name = scope_of(cell);
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

// A variable that begins as the kernel does.
static braid_out make_weights(braid_graph *g, const char *name, braid_dtype dtype, braid_shape shape,
                              const braid_rnn_cell_options *o)
{
    return braid_variable_get(g, name, dtype, shape, o->kernel_initializer, true).read;
}

static linear make_linear(const braid_rnn_cell *cell, const braid_rnn_cell_options *o, int64_t in,
                          int64_t out, float bias)
{
    const braid_initializer first =
        o->bias_initializer.build ? o->bias_initializer : braid_constant_initializer(bias);
    braid_graph *g = cell->graph;
    linear l = {.kernel = make_weights(g, "kernel", cell->dtype, BRAID_SHAPE(in, out), o)};
    l.bias = braid_variable_get(g, "bias", cell->dtype, BRAID_SHAPE(out), first, true).read;
    return l;
}

// The options of a cell, with the activation that it has.
static braid_rnn_cell_options settled(const braid_rnn_cell_options *options)
{
    braid_rnn_cell_options o = options ? *options : (braid_rnn_cell_options){0};
    if (!o.activation) o.activation = braid_tanh;
    return o;
}

// [a, b] kernel + bias
static braid_out apply_linear(braid_graph *g, const linear *l, braid_out a, braid_out b)
{
    const braid_out parts[2] = {a, b};
    return braid_bias_add(g, braid_matmul(g, braid_concat(g, parts, 2, 1), l->kernel), l->bias);
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
    braid_rnn_cell_options options;
    linear gates, candidate; // the basic cell has no gates
} units;

static void build_basic_rnn(braid_rnn_cell *cell, braid_dtype dtype, int64_t input_size)
{
    (void)dtype; // the cell's
    units *u = cell->data;
    u->candidate = make_linear(cell, &u->options, input_size + u->count, u->count, 0);
}

static braid_out step_basic_rnn(braid_rnn_cell *cell, braid_out input, const braid_out *state,
                                braid_out *next)
{
    const units *u = cell->data;
    next[0] = u->options.activation(cell->graph, apply_linear(cell->graph, &u->candidate, input, state[0]));
    return next[0];
}

static void build_gru(braid_rnn_cell *cell, braid_dtype dtype, int64_t input_size)
{
    (void)dtype; // the cell's
    units *u = cell->data;
    (void)braid_push_variable_scope(cell->graph, "gates", NULL);
    u->gates = make_linear(cell, &u->options, input_size + u->count, 2 * u->count, 1);
    braid_pop_variable_scope(cell->graph);
    (void)braid_push_variable_scope(cell->graph, "candidate", NULL);
    u->candidate = make_linear(cell, &u->options, input_size + u->count, u->count, 0);
    braid_pop_variable_scope(cell->graph);
}

static braid_out step_gru(braid_rnn_cell *cell, braid_out input, const braid_out *state, braid_out *next)
{
    braid_graph *g = cell->graph;
    const units *u = cell->data;
    braid_out gates[2]; // reset, update
    split(g, braid_sigmoid(g, apply_linear(g, &u->gates, input, state[0])), gates, 2);
    braid_out reset = braid_mul(g, gates[0], state[0]);
    braid_out candidate = u->options.activation(g, apply_linear(g, &u->candidate, input, reset));
    braid_out kept = braid_mul(g, gates[1], state[0]);
    braid_out rest = train_number_op(g, "Sub", "sub", 1, gates[1]);
    next[0] = braid_add(g, kept, braid_mul(g, rest, candidate));
    return next[0];
}

static braid_rnn_cell *units_cell(braid_graph *g, const braid_rnn_cell_type *type, int64_t count,
                                  const braid_rnn_cell_options *options)
{
    const units u = {.count = count, .options = settled(options)};
    return braid_rnn_cell_new(g, &(braid_rnn_cell_spec){.type = type,
                                                        .name = u.options.name,
                                                        .output_size = count,
                                                        .state_count = 1,
                                                        .states = {{count, false}},
                                                        .data = &u,
                                                        .data_size = sizeof u});
}

braid_rnn_cell *braid_basic_rnn_cell(braid_graph *g, int64_t count, const braid_rnn_cell_options *options)
{
    static const braid_rnn_cell_type type = {"basic_rnn_cell", build_basic_rnn, step_basic_rnn};
    return units_cell(g, &type, count, options);
}

braid_rnn_cell *braid_gru_cell(braid_graph *g, int64_t count, const braid_rnn_cell_options *options)
{
    static const braid_rnn_cell_type type = {"gru_cell", build_gru, step_gru};
    return units_cell(g, &type, count, options);
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
    l->gates = make_linear(cell, &l->options.cell, input_size + lstm_outputs(l), PARTS * l->count, 0);
    for (int i = 0; l->options.use_peepholes && i < 3; i++)
        l->peepholes[order[i]] =
            make_weights(g, names[order[i]], dtype, BRAID_SHAPE(l->count), &l->options.cell);
    if (!l->options.num_proj) return;
    (void)braid_push_variable_scope(g, "projection", NULL);
    const braid_shape shape = BRAID_SHAPE(l->count, l->options.num_proj);
    l->projection = make_weights(g, "kernel", dtype, shape, &l->options.cell);
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
    braid_out c = braid_add(g, kept, braid_mul(g, take, l->options.cell.activation(g, parts[CANDIDATE])));
    c = clip(g, c, l->options.cell_clip);
    braid_out show = braid_sigmoid(g, peep(g, l, OUTPUT, parts[OUTPUT], c));
    braid_out h = braid_mul(g, show, l->options.cell.activation(g, c));
    if (l->projection.op) h = clip(g, braid_matmul(g, h, l->projection), l->options.proj_clip);
    next[0] = c;
    next[1] = h;
    return h;
}

static braid_rnn_cell *make_lstm(braid_graph *g, const braid_rnn_cell_type *type, int64_t count,
                                 const braid_lstm_options *options)
{
    lstm l = {.count = count, .options = *options};
    l.options.cell = settled(&options->cell);
    const int64_t out = lstm_outputs(&l);
    return braid_rnn_cell_new(g, &(braid_rnn_cell_spec){.type = type,
                                                        .name = options->cell.name,
                                                        .output_size = out,
                                                        .state_count = 2,
                                                        .states = {{count, true}, {out, false}},
                                                        .data = &l,
                                                        .data_size = sizeof l});
}

braid_lstm_options braid_lstm_defaults(void)
{
    return (braid_lstm_options){.forget_bias = 1};
}

braid_rnn_cell *braid_basic_lstm_cell(braid_graph *g, int64_t count, float forget_bias,
                                      const braid_rnn_cell_options *options)
{
    static const braid_rnn_cell_type type = {"basic_lstm_cell", build_lstm, step_lstm};
    return make_lstm(g, &type, count,
                     &(braid_lstm_options){.cell = settled(options), .forget_bias = forget_bias});
}

braid_rnn_cell *braid_lstm_cell(braid_graph *g, int64_t count, const braid_lstm_options *options)
{
    static const braid_rnn_cell_type type = {"lstm_cell", build_lstm, step_lstm};
    const braid_lstm_options o = options ? *options : braid_lstm_defaults();
    return make_lstm(g, &type, count, &o);
}
