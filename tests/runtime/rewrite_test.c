// Rewrites: each pattern fires where it should and nowhere else, and errors name what was built.
#include "base/alloc.h"
#include "runtime/optimize.h"
#include "runtime/placer.h"
#include "runtime/prepare.h"
#include "runtime/testing/test_graph.h"
#include <braid/braid.h>
#include <math.h>

#define DEVICE "/job:localhost/replica:0/task:0/device:CPU:0"

// ---- What a rewrite leaves of a graph ----

// The graph of one run on one device, rewritten; to be ended by bd_prepared_fini.
static bd_prepared rewritten(braid_graph *g, unsigned disabled, const char *const *feeds, int feed_count,
                             const char *const *fetches, int fetch_count)
{
    const bd_device_info device = {.name = DEVICE, .type = "CPU", .incarnation = 1};
    const bd_placer_options placing = {.devices = &device, .device_count = 1, .default_device = DEVICE};
    const bd_run_signature signature = {
        .feeds = feeds, .feed_count = feed_count, .fetches = fetches, .fetch_count = fetch_count};
    BD_STATUS(st);
    braid_graph_status(g, st);
    assert_ok(st);
    bd_place(g, 0, &placing, st);
    assert_ok(st);
    bd_prepared prepared;
    bd_prepare(g, &signature, BD_FEED_BY_CALL_FRAME, NULL, &prepared, st);
    assert_ok(st);
    bd_optimize(&prepared.graph, disabled, st);
    assert_ok(st);
    return prepared;
}

// "Add MatMul MatMul": the ops of a graph in the order of the alphabet, but for arguments and results.
static char *ops_of(const braid_graph *g)
{
    bd_strbuf text = {0};
    for (size_t i = 0; i < bd_op_table_len; i++) {
        for (size_t k = 0; k < g->nodes.len; k++) {
            const char *op = g->nodes.items[k]->op_type;
            if (strcmp(op, bd_op_table[i].name) != 0 || !strcmp(op, "_Arg") || !strcmp(op, "_Retval"))
                continue;
            bd_strbuf_appendf(&text, "%s%s", text.len ? " " : "", op);
        }
    }
    char *copy = bd_strdup(bd_strbuf_str(&text));
    bd_strbuf_fini(&text);
    return copy;
}

static void check_ops_after(braid_graph *g, unsigned rewrites, braid_out fetch, const char *expected)
{
    char *name = bd_asprintf("%s:%d", fetch.op->name, fetch.index);
    const char *feeds[] = {"x:0"};
    bool is_fed = braid_graph_find(g, "x") != NULL;
    bd_prepared p = rewritten(g, BRAID_REWRITE_ALL & ~rewrites, feeds, is_fed, (const char *const *)&name, 1);
    char *ops = ops_of(&p.graph);
    assert_string_equal(ops, expected);
    bd_free(ops);
    bd_free(name);
    bd_prepared_fini(&p);
}

// With all rewrites off, every node that the run needs is there.
static void check_untouched_without(braid_graph *g, braid_out fetch, int built)
{
    char *name = bd_asprintf("%s:%d", fetch.op->name, fetch.index);
    bd_prepared p = rewritten(g, BRAID_REWRITE_ALL, NULL, 0, (const char *const *)&name, 1);
    assert_int_equal(p.graph.nodes.len, built + 1); // and _Retval
    bd_free(name);
    bd_prepared_fini(&p);
}

static braid_out vector(braid_graph *g, const char *name, int64_t n)
{
    braid_tensor *t = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(n), NULL);
    for (int64_t i = 0; i < n; i++)
        bd_tensor_f32(t)[i] = (float)i;
    return tg_const(g, name, t);
}

static braid_out int_vector(braid_graph *g, int32_t a, int32_t b)
{
    braid_tensor *t = braid_tensor_new(BRAID_INT32, BRAID_SHAPE(2), NULL);
    bd_tensor_i32(t)[0] = a;
    bd_tensor_i32(t)[1] = b;
    return tg_const(g, NULL, t);
}

static braid_out x_of(braid_graph *g) // what is fed
{
    braid_op *x = braid_graph_find(g, "x");
    return x ? (braid_out){x, 0} : tg_placeholder(g, "x", BRAID_FLOAT);
}

typedef struct pattern {
    const char *what;
    unsigned rewrites;
    braid_out (*build)(braid_graph *g); // what is fetched; "x" is fed if it is there
    const char *expected;               // ops that are left
} pattern;

// ---- Constants ----

static braid_out sum_of_constants(braid_graph *g)
{
    return tg2(g, "Add", NULL, tg_float(g, NULL, 1), tg1(g, "Neg", NULL, tg_float(g, NULL, 2)));
}

static braid_out sum_with_x(braid_graph *g)
{
    return tg2(g, "Add", NULL, x_of(g), sum_of_constants(g));
}

static braid_out shape_of_fill(braid_graph *g)
{
    braid_out shape = tg1(g, "Identity", NULL, int_vector(g, 3, 4));
    return tg1(g, "Shape", NULL, tg1(g, "Neg", NULL, tg2(g, "Fill", NULL, shape, x_of(g))));
}

static braid_out shape_of_x(braid_graph *g)
{
    braid_op_desc *d = braid_op_begin(g, "Placeholder", "x"); // a feed may have another shape
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_shape(d, "shape", BRAID_SHAPE(2, 3));
    return tg1(g, "Shape", NULL, braid_op_end_out(d));
}

static braid_out many_elements(braid_graph *g)
{
    return tg2(g, "Fill", NULL, int_vector(g, 4000, 1000), tg_float(g, NULL, 1));
}

static braid_out division_by_zero(braid_graph *g)
{
    return tg2(g, "FloorDiv", NULL, tg_int(g, NULL, 1), tg_int(g, NULL, 0));
}

static braid_out random_numbers(braid_graph *g)
{
    braid_op_desc *d = braid_op_begin(g, "RandomUniform", NULL);
    braid_op_input(d, int_vector(g, 2, 2));
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    return braid_op_end_out(d);
}

static braid_out halves(braid_graph *g) // several outputs
{
    braid_op_desc *d = braid_op_begin(g, "Split", NULL);
    braid_op_input(d, tg_int(g, NULL, 0));
    braid_op_input(d, vector(g, NULL, 4));
    braid_op_attr_int(d, "num_split", 2);
    braid_op *split = braid_op_end(d);
    return tg2(g, "Add", NULL, x_of(g), tg2(g, "Sub", NULL, (braid_out){split, 1}, (braid_out){split, 0}));
}

// ---- Common subexpressions ----

static braid_out twins(braid_graph *g)
{
    braid_out x = x_of(g), a = vector(g, NULL, 4), b = vector(g, NULL, 4);
    braid_out left = tg1(g, "Exp", NULL, tg2(g, "Mul", NULL, x, a));
    braid_out right = tg1(g, "Exp", NULL, tg2(g, "Mul", NULL, b, x));
    return tg2(g, "Add", NULL, left, right);
}

static braid_out unlike_twins(braid_graph *g)
{
    braid_out x = x_of(g), a = vector(g, NULL, 4);
    braid_out left = tg2(g, "Sub", NULL, x, a), right = tg2(g, "Sub", NULL, a, x);
    return tg2(g, "Add", NULL, left, right);
}

static braid_out two_reads(braid_graph *g)
{
    braid_out v = tg_variable(g, "v", BRAID_FLOAT);
    return tg2(g, "Add", NULL, tg1(g, "Identity", NULL, v), tg1(g, "Identity", NULL, v));
}

static braid_out two_random(braid_graph *g)
{
    return tg2(g, "Add", NULL, random_numbers(g), random_numbers(g));
}

// ---- Dependencies ----

static braid_out identities(braid_graph *g)
{
    return tg1(g, "Identity", NULL, tg1(g, "StopGradient", NULL, tg1(g, "Neg", NULL, x_of(g))));
}

static braid_out tuple(braid_graph *g) // as tf.gradients makes it, the first member unused
{
    braid_out x = x_of(g), unused = tg2(g, "MatMul", NULL, x, x), used = tg1(g, "Neg", NULL, x);
    braid_op *both = tg_after(g, "NoOp", NULL, 2, (braid_op *[]){unused.op, used.op});
    return tg1(g, "Exp", NULL, tg_identity_after(g, NULL, used, both));
}

static braid_out side_effect(braid_graph *g)
{
    braid_out x = x_of(g), v = tg_variable(g, "v", BRAID_FLOAT), assign = tg2(g, "Assign", NULL, v, x);
    braid_op *after = tg_after(g, "NoOp", NULL, 1, &assign.op);
    return tg1(g, "Exp", NULL, tg_identity_after(g, NULL, x, after));
}

static braid_out read_after_assign(braid_graph *g)
{
    braid_out v = tg_variable(g, "v", BRAID_FLOAT), assign = tg2(g, "Assign", NULL, v, x_of(g));
    return tg_identity_after(g, NULL, v, assign.op);
}

// ---- Products with bias and activation ----

static braid_out matrix(braid_graph *g)
{
    return tg2(g, "Fill", NULL, int_vector(g, 4, 4), tg_float(g, NULL, 0.5f));
}

static braid_out dense_relu(braid_graph *g)
{
    braid_out product = tg2(g, "MatMul", "product", x_of(g), matrix(g));
    return tg1(g, "Relu", "relu", tg2(g, "BiasAdd", "bias", product, vector(g, NULL, 4)));
}

static braid_out dense_add(braid_graph *g) // as `tf.matmul(x, w) + b`
{
    return tg2(g, "Add", NULL, vector(g, NULL, 4), tg2(g, "MatMul", NULL, x_of(g), matrix(g)));
}

static braid_out dense_add_of_a_row(braid_graph *g) // [1, 4]: no bias
{
    braid_out row = tg2(g, "Reshape", NULL, vector(g, NULL, 4), int_vector(g, 1, 4));
    return tg2(g, "Add", NULL, row, tg2(g, "MatMul", NULL, x_of(g), matrix(g)));
}

static braid_out product_used_twice(braid_graph *g)
{
    braid_out product = tg2(g, "MatMul", NULL, x_of(g), matrix(g));
    return tg2(g, "Sub", NULL, product, tg2(g, "BiasAdd", NULL, product, vector(g, NULL, 4)));
}

static braid_out product_waited_for(braid_graph *g)
{
    braid_out product = tg2(g, "MatMul", NULL, x_of(g), matrix(g));
    braid_out bias = tg2(g, "BiasAdd", NULL, product, vector(g, NULL, 4));
    braid_op *after = tg_after(g, "NoOp", NULL, 1, &product.op);
    return tg_identity_after(g, NULL, bias, after);
}

static braid_out conv(braid_graph *g, const char *activation, const char *format)
{
    braid_tensor *w = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(3, 3, 2, 5), NULL);
    for (int i = 0; i < 90; i++)
        bd_tensor_f32(w)[i] = (float)(i % 7 - 3) / 8;
    braid_op_desc *d = braid_op_begin(g, "Conv2D", NULL);
    braid_op_input(d, x_of(g));
    braid_op_input(d, tg_const(g, NULL, w));
    braid_op_attr_int_list(d, "strides", (const int64_t[]){1, 1, 1, 1}, 4);
    braid_op_attr_string(d, "padding", "SAME");
    braid_op_attr_string(d, "data_format", format);
    braid_out product = braid_op_end_out(d);
    d = braid_op_begin(g, "BiasAdd", NULL);
    braid_op_input(d, product);
    braid_op_input(d, vector(g, NULL, 5));
    braid_op_attr_string(d, "data_format", format);
    braid_out sum = braid_op_end_out(d);
    return activation ? tg1(g, activation, NULL, sum) : sum;
}

static braid_out conv_relu(braid_graph *g)
{
    return conv(g, "Relu", "NHWC");
}

static braid_out conv_channels_first(braid_graph *g)
{
    return conv(g, "Relu", "NCHW");
}

// ---- Element-wise nodes ----

static braid_out chain(braid_graph *g)
{
    braid_out x = x_of(g), scaled = tg2(g, "Mul", "scaled", x, tg_float(g, NULL, 2));
    return tg1(g, "Exp", NULL, tg2(g, "Add", "sum", scaled, vector(g, NULL, 4)));
}

static braid_out diamond(braid_graph *g)
{
    braid_out square = tg1(g, "Square", NULL, x_of(g)), root = tg1(g, "Sqrt", NULL, square);
    return tg2(g, "Sub", NULL, tg1(g, "Neg", NULL, square), root);
}

static braid_out chain_used_on_the_way(braid_graph *g)
{
    braid_out negative = tg1(g, "Neg", NULL, x_of(g)), exp = tg1(g, "Exp", NULL, negative);
    return tg2(g, "MatMul", NULL, negative, tg1(g, "Tanh", NULL, exp));
}

static braid_out chain_waited_for(braid_graph *g)
{
    braid_out negative = tg1(g, "Neg", NULL, x_of(g)), exp = tg1(g, "Exp", NULL, negative);
    return tg_identity_after(g, NULL, exp, tg_after(g, "NoOp", NULL, 1, &negative.op));
}

static braid_out comparison(braid_graph *g)
{
    braid_out less = tg2(g, "Less", NULL, x_of(g), tg_float(g, NULL, 2));
    return tg1(g, "LogicalNot", NULL, less);
}

static braid_out sum_with_a_row(braid_graph *g) // known to broadcast: no pass over one shape
{
    braid_out row = tg2(g, "Add", NULL, matrix(g), vector(g, NULL, 4));
    return tg1(g, "Exp", NULL, row);
}

static braid_out old_value(braid_graph *g) // of a variable, used after it has been assigned to
{
    braid_out v = tg_variable(g, "v", BRAID_FLOAT), old = tg1(g, "Neg", NULL, tg1(g, "Identity", NULL, v));
    braid_op_desc *d = braid_op_begin(g, "Exp", NULL);
    braid_op_input(d, old);
    braid_op_control(d, tg2(g, "Assign", NULL, v, x_of(g)).op);
    return braid_op_end_out(d);
}

// ---- Updates ----

static braid_out update_by(braid_graph *g, const char *variable, int64_t size, braid_out rate,
                           braid_out gradient, braid_op *after)
{
    braid_op_desc *d = braid_op_begin(g, "VariableV2", variable);
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_shape(d, "shape", BRAID_SHAPE(size));
    braid_out v = braid_op_end_out(d);
    d = braid_op_begin(g, "ApplyGradientDescent", NULL);
    braid_op_input(d, v);
    braid_op_input(d, rate);
    braid_op_input(d, gradient);
    if (after) braid_op_control(d, after);
    return braid_op_end_out(d);
}

static braid_out update(braid_graph *g, const char *variable, int64_t size, braid_out rate, braid_op *after)
{
    return update_by(g, variable, size, rate, tg2(g, "Mul", NULL, x_of(g), vector(g, NULL, size)), after);
}

static braid_out after_both(braid_graph *g, braid_out a, braid_out b)
{
    return tg_identity_after(g, NULL, tg_float(g, NULL, 1),
                             tg_after(g, "NoOp", NULL, 2, (braid_op *[]){a.op, b.op}));
}

static braid_out two_updates(braid_graph *g)
{
    braid_out rate = tg_float(g, NULL, 1);
    braid_out v = update(g, "v", 4, rate, NULL), w = update(g, "w", 5, rate, NULL);
    return after_both(g, v, w);
}

static braid_out updates_at_two_rates(braid_graph *g)
{
    return after_both(g, update(g, "v", 4, tg_float(g, NULL, 1), NULL),
                      update(g, "w", 5, tg_float(g, NULL, 2), NULL));
}

static braid_out update_after_update(braid_graph *g)
{
    braid_out rate = tg_float(g, NULL, 1), first = update(g, "v", 4, rate, NULL);
    return after_both(g, first, update(g, "w", 5, rate, first.op));
}

static braid_out large_update(braid_graph *g)
{
    braid_out rate = tg_float(g, NULL, 1);
    return after_both(g, update(g, "v", 4, rate, NULL), update(g, "w", 50000, rate, NULL));
}

static braid_out dequeued(braid_graph *g)
{
    braid_op_desc *d = braid_op_begin(g, "FIFOQueue", NULL);
    braid_op_attr_type_list(d, "component_types", (const braid_dtype[]){BRAID_FLOAT}, 1);
    braid_out queue = braid_op_end_out(d);
    d = braid_op_begin(g, "QueueDequeue", NULL);
    braid_op_input(d, queue);
    braid_op_attr_type_list(d, "component_types", (const braid_dtype[]){BRAID_FLOAT}, 1);
    return braid_op_end_out(d);
}

static braid_out updates_by_one_batch(braid_graph *g)
{
    braid_out rate = tg_float(g, NULL, 1), batch = dequeued(g);
    return after_both(g, update_by(g, "v", 4, rate, tg1(g, "Neg", NULL, batch), NULL),
                      update_by(g, "w", 5, rate, tg1(g, "Exp", NULL, batch), NULL));
}

static braid_out updates_by_a_batch_each(braid_graph *g)
{
    braid_out rate = tg_float(g, NULL, 1);
    return after_both(g, update_by(g, "v", 4, rate, dequeued(g), NULL),
                      update_by(g, "w", 5, rate, dequeued(g), NULL));
}

// Another update comes before one of them: of what may be the memory of the other's gradient.
static braid_out updates_around_an_update(braid_graph *g)
{
    braid_out rate = tg_float(g, NULL, 1), v = update(g, "v", 4, rate, NULL);
    braid_out u = tg_variable(g, "u", BRAID_FLOAT), before = tg2(g, "AssignAdd", NULL, u, rate);
    return after_both(g, v, update(g, "w", 5, rate, before.op));
}

#define TWO_UPDATES "ApplyGradientDescent ApplyGradientDescent "
#define REST "Identity Mul Mul NoOp VariableV2 VariableV2"

static const pattern patterns[] = {
    {"two updates", BRAID_REWRITE_UPDATES, two_updates, "Const Const Const Const " REST " _FusedUpdate"},
    {"updates at two rates", BRAID_REWRITE_UPDATES, updates_at_two_rates,
     TWO_UPDATES "Const Const Const Const Const " REST},
    {"an update after another", BRAID_REWRITE_UPDATES, update_after_update,
     TWO_UPDATES "Const Const Const Const " REST},
    {"a large update", BRAID_REWRITE_UPDATES, large_update, TWO_UPDATES "Const Const Const Const " REST},
    {"updates by one batch", BRAID_REWRITE_UPDATES, updates_by_one_batch,
     "Const Const Exp FIFOQueue Identity Neg NoOp QueueDequeue VariableV2 VariableV2 _FusedUpdate"},
    {"updates by a batch each", BRAID_REWRITE_UPDATES, updates_by_a_batch_each,
     TWO_UPDATES
     "Const Const FIFOQueue FIFOQueue Identity NoOp QueueDequeue QueueDequeue VariableV2 VariableV2"},
    {"updates around another", BRAID_REWRITE_UPDATES, updates_around_an_update,
     TWO_UPDATES "AssignAdd Const Const Const Const Identity Mul Mul NoOp VariableV2 VariableV2 VariableV2"},
    {"a chain", BRAID_REWRITE_ELEMENTWISE, chain, "Const Const _FusedElementwise"},
    {"a diamond", BRAID_REWRITE_ELEMENTWISE, diamond, "_FusedElementwise"},
    {"a value used on the way", BRAID_REWRITE_ELEMENTWISE, chain_used_on_the_way,
     "MatMul Neg _FusedElementwise"},
    {"a node that something waits for", BRAID_REWRITE_ELEMENTWISE, chain_waited_for, "Exp Identity Neg NoOp"},
    {"the old value of a variable", BRAID_REWRITE_ELEMENTWISE, old_value,
     "Assign Exp Identity Neg VariableV2"},
    {"a comparison", BRAID_REWRITE_ELEMENTWISE, comparison, "Const Less LogicalNot"},
    {"a broadcast", BRAID_REWRITE_ELEMENTWISE, sum_with_a_row, "Add Const Const Const Exp Fill"},
    {"a dense layer", BRAID_REWRITE_REMAPPING, dense_relu, "Const Const Const Fill _FusedMatMul"},
    {"a sum with a vector", BRAID_REWRITE_REMAPPING | BRAID_REWRITE_CONSTANT_FOLDING, dense_add,
     "Const Const _FusedMatMul"},
    {"a sum with a row", BRAID_REWRITE_REMAPPING | BRAID_REWRITE_CONSTANT_FOLDING, dense_add_of_a_row,
     "Add Const Const MatMul"},
    {"a product used twice", BRAID_REWRITE_REMAPPING, product_used_twice,
     "BiasAdd Const Const Const Fill MatMul Sub"},
    {"a product that something waits for", BRAID_REWRITE_REMAPPING, product_waited_for,
     "BiasAdd Const Const Const Fill Identity MatMul NoOp"},
    {"a convolution", BRAID_REWRITE_REMAPPING, conv_relu, "Const Const _FusedConv2D"},
    {"a convolution with channels first", BRAID_REWRITE_REMAPPING, conv_channels_first,
     "BiasAdd Const Const Conv2D Relu"},
    {"constants", BRAID_REWRITE_CONSTANT_FOLDING, sum_of_constants, "Const"},
    {"constants before a feed", BRAID_REWRITE_CONSTANT_FOLDING, sum_with_x, "Add Const"},
    {"a shape the graph settles", BRAID_REWRITE_CONSTANT_FOLDING, shape_of_fill, "Const"},
    {"a shape a feed settles", BRAID_REWRITE_CONSTANT_FOLDING, shape_of_x, "Shape"},
    {"more than 10 MB", BRAID_REWRITE_CONSTANT_FOLDING, many_elements, "Const Const Fill"},
    {"a kernel that fails", BRAID_REWRITE_CONSTANT_FOLDING, division_by_zero, "Const Const FloorDiv"},
    {"a stateful op", BRAID_REWRITE_CONSTANT_FOLDING, random_numbers, "Const RandomUniform"},
    {"several outputs", BRAID_REWRITE_CONSTANT_FOLDING, halves, "Add Const"},
    {"twins", BRAID_REWRITE_COMMON_SUBEXPRESSIONS, twins, "Add Const Exp Mul"},
    {"unlike twins", BRAID_REWRITE_COMMON_SUBEXPRESSIONS, unlike_twins, "Add Const Sub Sub"},
    {"two reads of a variable", BRAID_REWRITE_ALL, two_reads, "Add Identity Identity VariableV2"},
    {"two random tensors", BRAID_REWRITE_COMMON_SUBEXPRESSIONS, two_random,
     "Add Const RandomUniform RandomUniform"},
    {"identities", BRAID_REWRITE_DEPENDENCIES, identities, "Neg"},
    {"an unused gradient", BRAID_REWRITE_DEPENDENCIES, tuple, "Exp Neg"},
    {"an assignment", BRAID_REWRITE_DEPENDENCIES, side_effect, "Assign Exp VariableV2"},
    {"a read after an assignment", BRAID_REWRITE_ALL, read_after_assign, "Assign Identity VariableV2"},
};

static void patterns_fire_where_they_should(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(patterns); i++) {
        print_message("%s\n", patterns[i].what);
        braid_graph *g = braid_graph_new();
        braid_out fetch = patterns[i].build(g);
        int built = braid_graph_num_ops(g);
        check_ops_after(g, patterns[i].rewrites, fetch, patterns[i].expected);
        check_untouched_without(g, fetch, built);
        braid_graph_free(g);
    }
}

// ---- Results and errors ----

static braid_tensor *fetch_one(braid_graph *g, unsigned disabled, braid_out fetch, const braid_tensor *x,
                               braid_status *st)
{
    braid_session *s = braid_session_open(
        g, &(braid_session_options){.disabled_rewrites = disabled, .inter_op_threads = 1}, st);
    assert_ok(st);
    braid_tensor *value = NULL;
    braid_feed feed = {braid_graph_find_out(g, "x:0"), x};
    braid_fetch wanted = {fetch, &value};
    braid_session_run(
        s, &(braid_run_args){.feeds = &feed, .feed_count = 1, .fetches = &wanted, .fetch_count = 1}, st);
    braid_session_close(s, NULL);
    return value;
}

static void convolutions_give_the_same_up_to_rounding(void **state)
{
    (void)state;
    static const char *const activations[] = {NULL, "Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "Neg"};
    braid_tensor *x = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(3, 11, 9, 2), NULL);
    for (int64_t i = 0; i < bd_tensor_count(x); i++)
        bd_tensor_f32(x)[i] = (float)(i * 31 % 23) / 4 - 3;
    bd_tensor_f32(x)[5] = NAN; // a loss that went wrong must show
    for (size_t i = 0; i < BD_COUNTOF(activations); i++) {
        braid_graph *g = braid_graph_new();
        braid_out y = conv(g, activations[i], "NHWC");
        BD_STATUS(st);
        braid_tensor *plain = fetch_one(g, BRAID_REWRITE_ALL, y, x, st);
        assert_ok(st);
        braid_tensor *fused = fetch_one(g, 0, y, x, st);
        assert_ok(st);
        assert_true(bd_shape_equal(&plain->shape, &fused->shape));
        for (int64_t k = 0; k < bd_tensor_count(plain); k++) {
            assert_int_equal(isnan(bd_tensor_f32(plain)[k]), isnan(bd_tensor_f32(fused)[k]));
            if (!isnan(bd_tensor_f32(plain)[k]))
                assert_float_equal(bd_tensor_f32(plain)[k], bd_tensor_f32(fused)[k], 1e-5);
        }
        braid_tensor_free(plain);
        braid_tensor_free(fused);
        braid_graph_free(g);
    }
    braid_tensor_free(x);
}

// The message of a run with this feed, rewritten or not.
static void assert_same_error(braid_out (*build)(braid_graph *g), braid_shape x_shape, const char *text)
{
    braid_tensor *x = braid_tensor_new(BRAID_FLOAT, x_shape, NULL);
    memset(x->data, 0, bd_tensor_bytes(x));
    braid_graph *g = braid_graph_new();
    braid_out y = build(g);
    BD_STATUS(plain);
    BD_STATUS(rewritten_st);
    fetch_one(g, BRAID_REWRITE_ALL, y, x, plain);
    fetch_one(g, 0, y, x, rewritten_st);
    assert_string_equal(braid_status_message(rewritten_st), braid_status_message(plain));
    assert_error(rewritten_st, BRAID_INVALID_ARGUMENT, text);
    braid_tensor_free(x);
    braid_graph_free(g);
}

static braid_out wrong_bias(braid_graph *g) // of a shape that only a run settles
{
    braid_out x = x_of(g), square = tg2(g, "MatMul", "product", x, x);
    return tg1(g, "Relu", "relu", tg2(g, "BiasAdd", "bias", square, vector(g, NULL, 4)));
}

static void errors_name_the_node_that_was_built(void **state)
{
    (void)state;
    assert_same_error(dense_relu, BRAID_SHAPE(2, 3), "(MatMul on");
    assert_same_error(dense_relu, BRAID_SHAPE(2), "{{node product}}");
    assert_same_error(wrong_bias, BRAID_SHAPE(3, 3), "(BiasAdd on");
    assert_same_error(chain, BRAID_SHAPE(3, 5), "{{node sum}}");
    braid_tensor *x = braid_tensor_float(1);
    braid_graph *g = braid_graph_new();
    BD_STATUS(st);
    fetch_one(g, 0, two_updates(g), x, st);
    assert_error(st, BRAID_FAILED_PRECONDITION,
                 "Attempting to use uninitialized value v (ApplyGradientDescent on");
    braid_tensor_free(x);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_fire_where_they_should),
        cmocka_unit_test(convolutions_give_the_same_up_to_rounding),
        cmocka_unit_test(errors_name_the_node_that_was_built),
    };
    return BD_RUN_TESTS(tests);
}
