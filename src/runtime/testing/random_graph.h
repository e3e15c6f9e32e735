// Random graphs for tests of the runtime: pure ops of several types and shapes, branches, loops, control
// edges. Effects: random_effects.h.
#ifndef BD_RUNTIME_TESTING_RANDOM_GRAPH_H
#define BD_RUNTIME_TESTING_RANDOM_GRAPH_H

#include "base/random.h"
#include "runtime/testing/test_graph.h"
#include <braid/braid.h>
#include <math.h>
#include <stdio.h>

enum {
    VALUES_MAX = 200,
    VARIABLES = 6,
    READS_MAX = 40,
    FEEDS_MAX = 4
};

typedef struct value {
    braid_out out;
    braid_dtype dtype;
    braid_shape shape; // that it will have: the graph may know less
} value;

typedef struct variable {
    braid_out handle;
    braid_shape shape;
    bool is_resource;
    braid_op *written;          // by this last; NULL: in an earlier run
    braid_op *reads[READS_MAX]; // since then
    int read_count;
} variable;

typedef struct maker {
    braid_graph *g;
    bd_rng rng;
    value values[VALUES_MAX];
    int count;
    variable variables[VARIABLES];
    braid_feed feeds[FEEDS_MAX];
    int feed_count;
    braid_op *starts[VARIABLES], *targets[VALUES_MAX];
    int target_count;
    braid_out rate, condition;
} maker;

// ---- Drawing ----

static int draw(maker *m, int below)
{
    return (int)bd_rng_below(&m->rng, (uint64_t)below);
}

#define ANY_OF(m, list) ((list)[draw((m), BD_COUNTOF(list))])

static braid_shape any_shape(maker *m)
{
    static const braid_shape shapes[] = {{0},
                                         {.rank = 1, .dims = {7}},
                                         {.rank = 2, .dims = {3, 7}},
                                         {.rank = 1, .dims = {1}},
                                         {.rank = 1, .dims = {0}},
                                         {.rank = 1, .dims = {70}},
                                         {.rank = 2, .dims = {1, 7}},
                                         {.rank = 2, .dims = {3, 1}},
                                         {.rank = 2, .dims = {1, 1}},
                                         {.rank = 2, .dims = {5, 70}},
                                         {.rank = 3, .dims = {2, 3, 7}}};
    return shapes[draw(m, draw(m, 2) ? 3 : BD_COUNTOF(shapes))]; // few, often, so that they go together
}

static braid_tensor *any_tensor(maker *m, braid_dtype dtype, braid_shape shape)
{
    static const float numbers[] = {0, 1, -1, 0.5f, 3, -0.1f, -0.0f, 7, -2.5f, 0.25f, INFINITY, NAN};
    braid_tensor *t = braid_tensor_new(dtype, shape, NULL);
    bool is_tame = draw(m, 8) > 0;
    for (int64_t i = 0; i < bd_tensor_count(t); i++) {
        float number = numbers[draw(m, (int)BD_COUNTOF(numbers) - (is_tame ? 2 : 0))];
        switch (dtype) {
        case BRAID_FLOAT: bd_tensor_f32(t)[i] = number; break;
        case BRAID_DOUBLE: bd_tensor_f64(t)[i] = number; break;
        case BRAID_BOOL: bd_tensor_bool(t)[i] = draw(m, 2); break;
        default: bd_tensor_i32(t)[i] = draw(m, 7) - 3;
        }
    }
    return t;
}

static value any_of_type(maker *m, braid_dtype dtype)
{
    int recent = draw(m, 2) && m->count > 12 ? m->count - 12 : 0; // chains grow long that way
    for (int tries = 0; tries < 20; tries++) {
        value v = m->values[recent + draw(m, m->count - recent)];
        if (v.dtype == dtype) return v;
    }
    int i = m->count - 1;
    while (m->values[i].dtype != dtype)
        i--;
    return m->values[i];
}

static value any_number(maker *m)
{
    static const braid_dtype types[] = {BRAID_FLOAT, BRAID_FLOAT, BRAID_FLOAT, BRAID_DOUBLE, BRAID_INT32};
    return any_of_type(m, ANY_OF(m, types));
}

static value constant_of(maker *m, braid_dtype dtype, braid_shape shape)
{
    return (value){tg_const(m->g, NULL, any_tensor(m, dtype, shape)), dtype, shape};
}

static value any_of_shape(maker *m, braid_dtype dtype, braid_shape shape)
{
    for (int tries = 0; tries < 40; tries++) {
        value v = any_of_type(m, dtype);
        if (bd_shape_equal(&v.shape, &shape)) return v;
    }
    return constant_of(m, dtype, shape);
}

// ---- Nodes ----

static value push(maker *m, braid_out out, braid_dtype dtype, braid_shape shape)
{
    value v = {out, dtype, shape};
    assert_non_null(out.op);
    if (m->count < VALUES_MAX) m->values[m->count++] = v;
    return v;
}

// A node, and now and then its twin.
static value make(maker *m, const char *op, braid_dtype dtype, braid_shape shape, int count, value a, value b)
{
    const braid_out inputs[] = {a.out, b.out};
    value v = push(m, tg_node(m->g, op, NULL, count, inputs), dtype, shape);
    if (draw(m, 6) == 0) push(m, tg_node(m->g, op, NULL, count, inputs), dtype, shape);
    return v;
}

static value make1(maker *m, const char *op, value a)
{
    return make(m, op, a.dtype, a.shape, 1, a, a);
}

static value int_vector(maker *m, const int64_t *numbers, int count)
{
    braid_tensor *t = braid_tensor_new(BRAID_INT32, BRAID_SHAPE(count), NULL);
    for (int i = 0; i < count; i++)
        bd_tensor_i32(t)[i] = (int32_t)numbers[i];
    return (value){tg_const(m->g, NULL, t), BRAID_INT32, BRAID_SHAPE(count)};
}

static value bounded(maker *m, value v) // so that most numbers stay numbers
{
    if (v.dtype != BRAID_FLOAT || draw(m, 2)) return v;
    v.out = tg2(m->g, "Maximum", NULL, tg2(m->g, "Minimum", NULL, v.out, tg_float(m->g, NULL, 20)),
                tg_float(m->g, NULL, -20));
    return push(m, v.out, v.dtype, v.shape);
}

static const char *any_unary(maker *m, braid_dtype dtype)
{
    static const char *const floats[] = {"Neg",  "Abs", "Square",   "Tanh",         "Sigmoid",   "Relu",
                                         "Exp",  "Elu", "Identity", "StopGradient", "Floor",     "Relu6",
                                         "Sqrt", "Log", "Softplus", "Sign",         "Reciprocal"};
    static const char *const integers[] = {"Neg", "Abs", "Square", "Sign", "Identity"};
    if (dtype == BRAID_BOOL) return draw(m, 2) ? "LogicalNot" : "Identity";
    return dtype == BRAID_INT32 ? ANY_OF(m, integers) : ANY_OF(m, floats);
}

static void constant(maker *m)
{
    static const braid_dtype types[] = {BRAID_FLOAT, BRAID_FLOAT, BRAID_DOUBLE, BRAID_INT32, BRAID_BOOL};
    value v = constant_of(m, ANY_OF(m, types), any_shape(m));
    push(m, v.out, v.dtype, v.shape);
}

static void unary(maker *m)
{
    value v = draw(m, 8) ? any_number(m) : any_of_type(m, BRAID_BOOL);
    bounded(m, make1(m, any_unary(m, v.dtype), v));
}

// Two values that can be broadcast, and the resulting shape.
static braid_shape any_pair(maker *m, value *a, value *b)
{
    braid_shape shape;
    *a = any_number(m);
    for (int tries = 0; tries < 20; tries++) {
        *b = any_of_type(m, a->dtype);
        if (bd_shape_broadcast(&a->shape, &b->shape, &shape)) return shape;
    }
    *b = constant_of(m, a->dtype, BRAID_SCALAR);
    return a->shape;
}

static void binary(maker *m)
{
    static const char *const ops[] = {
        "Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference", "RealDiv"};
    value a, b;
    braid_shape shape = any_pair(m, &a, &b);
    const char *op = ops[draw(m, a.dtype == BRAID_INT32 ? 7 : 8)];
    bounded(m, make(m, op, a.dtype, shape, 2, a, b));
}

static void comparison(maker *m)
{
    static const char *const ops[] = {"Less", "GreaterEqual", "Equal", "NotEqual"};
    value a, b;
    braid_shape shape = any_pair(m, &a, &b);
    value is = make(m, ANY_OF(m, ops), BRAID_BOOL, shape, 2, a, b);
    value yes = any_of_shape(m, BRAID_FLOAT, shape), no = any_of_shape(m, BRAID_FLOAT, shape);
    push(m, tg_node(m->g, "Select", NULL, 3, (braid_out[]){is.out, yes.out, no.out}), BRAID_FLOAT, shape);
}

static void cast(maker *m)
{
    value v = any_of_type(m, draw(m, 2) ? BRAID_INT32 : BRAID_BOOL);
    braid_op_desc *d = braid_op_begin(m->g, "Cast", NULL);
    braid_op_input(d, v.out);
    braid_op_attr_type(d, "DstT", draw(m, 2) ? BRAID_FLOAT : BRAID_DOUBLE);
    braid_out out = braid_op_end_out(d);
    push(m, out, braid_out_dtype(out), v.shape);
}

// ---- Shapes ----

static void shape_of(maker *m)
{
    value a = any_number(m), b = any_of_type(m, a.dtype);
    switch (draw(m, 5)) {
    case 0: make(m, "Size", BRAID_INT32, BRAID_SCALAR, 1, a, a); break;
    case 1: make(m, "Rank", BRAID_INT32, BRAID_SCALAR, 1, a, a); break;
    case 2: make(m, "Shape", BRAID_INT32, BRAID_SHAPE(a.shape.rank), 1, a, a); break;
    case 3: make1(m, draw(m, 2) ? "ZerosLike" : "OnesLike", a); break;
    default: {
        braid_op_desc *d = braid_op_begin(m->g, "ShapeN", NULL);
        braid_op_input_list(d, (braid_out[]){a.out, b.out}, 2);
        braid_op *n = braid_op_end(d);
        push(m, (braid_out){n, 0}, BRAID_INT32, BRAID_SHAPE(a.shape.rank));
        push(m, (braid_out){n, 1}, BRAID_INT32, BRAID_SHAPE(b.shape.rank));
    }
    }
}

// Makes the shape known, or leaves it to the run.
static void reshaped(maker *m)
{
    value v = any_number(m);
    int64_t count = bd_shape_count(&v.shape);
    value flat = make(m, "Reshape", v.dtype, BRAID_SHAPE(count), 2, v, int_vector(m, &count, 1));
    value filled = {tg2(m->g, "Fill", NULL, tg1(m->g, "Shape", NULL, v.out), tg_float(m->g, NULL, 2)),
                    BRAID_FLOAT, v.shape};
    push(m, filled.out, BRAID_FLOAT, v.shape);
    value back = {tg1(m->g, "Shape", NULL, filled.out), BRAID_INT32, BRAID_SHAPE(v.shape.rank)};
    make(m, "Reshape", v.dtype, v.shape, 2, flat, back);
}

// As gradients of broadcasts are summed: Reshape(Sum(g, axes), shape).
static void summed(maker *m)
{
    value a, b;
    braid_shape shape = any_pair(m, &a, &b);
    if (a.dtype != BRAID_FLOAT) return;
    value g = any_of_shape(m, BRAID_FLOAT, shape);
    braid_out shape_a = tg1(m->g, "Shape", NULL, a.out), shape_b = tg1(m->g, "Shape", NULL, b.out);
    braid_op *axes = tg2(m->g, "BroadcastGradientArgs", NULL, shape_a, shape_b).op;
    for (int i = 0; i < 2; i++) {
        braid_out sum = tg2(m->g, "Sum", NULL, g.out, (braid_out){axes, i});
        value v = {tg2(m->g, "Reshape", NULL, sum, i ? shape_b : shape_a), BRAID_FLOAT,
                   i ? b.shape : a.shape};
        bounded(m, push(m, v.out, v.dtype, v.shape));
    }
}

static void pieces(maker *m)
{
    value v = any_of_shape(m, BRAID_FLOAT, BRAID_SHAPE(3, 7));
    braid_op_desc *d = braid_op_begin(m->g, "Unpack", NULL);
    braid_op_input(d, v.out);
    braid_op_attr_int(d, "num", 3);
    braid_op *rows = braid_op_end(d);
    for (int i = 0; i < 3; i++)
        push(m, (braid_out){rows, i}, BRAID_FLOAT, BRAID_SHAPE(7));
    d = braid_op_begin(m->g, "Pack", NULL);
    braid_op_input_list(d, (braid_out[]){{rows, 2}, any_of_shape(m, BRAID_FLOAT, BRAID_SHAPE(7)).out}, 2);
    push(m, braid_op_end_out(d), BRAID_FLOAT, BRAID_SHAPE(2, 7));
}

// [3, 7] [7, 5] with a bias and an activation, or nearly.
static void product(maker *m)
{
    static const char *const activations[] = {"Relu", "Relu6", "Tanh", "Sigmoid", "Elu", "Neg"};
    static const braid_shape biases[] = {{.rank = 1, .dims = {5}},       {.rank = 1, .dims = {1}},
                                         {.rank = 2, .dims = {1, 5}},    {.rank = 2, .dims = {3, 5}},
                                         {.rank = 3, .dims = {2, 3, 5}}, {0}};
    braid_dtype dtype = draw(m, 4) ? BRAID_FLOAT : BRAID_DOUBLE;
    value a = any_of_shape(m, dtype, BRAID_SHAPE(3, 7)), b = any_of_shape(m, dtype, BRAID_SHAPE(7, 5));
    value y = make(m, "MatMul", dtype, BRAID_SHAPE(3, 5), 2, a, b);
    value bias = any_of_shape(m, dtype, draw(m, 2) ? biases[0] : ANY_OF(m, biases));
    bool is_vector = bias.shape.rank == 1 && bias.shape.dims[0] == 5, is_bias = is_vector && draw(m, 2);
    if (bias.shape.rank == 3) y.shape = bias.shape;
    if (is_bias || draw(m, 2))
        y = make(m, is_bias ? "BiasAdd" : "Add", dtype, y.shape, 2, y, bias);
    else
        y = make(m, "AddV2", dtype, y.shape, 2, bias, y);
    if (draw(m, 2)) bounded(m, make1(m, ANY_OF(m, activations), y));
}

// ---- Control ----

static void ordered(maker *m)
{
    value v = any_number(m);
    braid_op *after[] = {any_number(m).out.op, any_number(m).out.op};
    if (draw(m, 2)) after[0] = tg_after(m->g, "NoOp", NULL, 2, after);
    push(m, tg_identity_after(m->g, NULL, v.out, after[0]), v.dtype, v.shape);
}

// Shaped like `x` and filled with its number of elements: depends only on the shape of `x` and on its
// deadness.
static braid_out size_everywhere(braid_graph *g, braid_out x)
{
    braid_op_desc *d = braid_op_begin(g, "Cast", NULL);
    braid_op_input(d, tg1(g, "Size", NULL, x));
    braid_op_attr_type(d, "DstT", BRAID_FLOAT);
    return tg2(g, "Fill", NULL, tg1(g, "Shape", NULL, x), braid_op_end_out(d));
}

// A node of a branch or of a loop's body: its inputs other than `v` run after `pivot`.
static value step_within(maker *m, value v, braid_op *pivot)
{
    braid_op_desc *d = braid_op_begin(m->g, "Const", NULL);
    braid_tensor *number = any_tensor(m, BRAID_FLOAT, BRAID_SCALAR);
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_tensor(d, "value", number);
    braid_tensor_free(number);
    braid_op_control(d, pivot);
    braid_out k = braid_op_end_out(d);
    switch (draw(m, 7)) {
    case 0: v.out = tg1(m->g, any_unary(m, BRAID_FLOAT), NULL, v.out); break;
    case 1: v.out = tg2(m->g, "Add", NULL, v.out, k); break;
    case 2: v.out = tg2(m->g, "Mul", NULL, tg1(m->g, "Neg", NULL, k), v.out); break;
    case 3:
        v.out = tg2(m->g, "Sub", NULL, v.out, tg2(m->g, "Fill", NULL, tg1(m->g, "Shape", NULL, v.out), k));
        break;
    case 4: v.out = tg_identity_after(m->g, NULL, v.out, tg1(m->g, "Tanh", NULL, v.out).op); break;
    case 5: v.out = size_everywhere(m->g, v.out); break;
    default:
        v.out = tg2(m->g, "Maximum", NULL, tg1(m->g, "Square", NULL, v.out), tg1(m->g, "Neg", NULL, v.out));
    }
    return v;
}

static void branches(maker *m)
{
    value v = any_of_type(m, BRAID_FLOAT), ends[2];
    braid_op *choice = tg2(m->g, "Switch", NULL, v.out, m->condition).op;
    braid_op *pivot = tg2(m->g, "Switch", NULL, m->condition, m->condition).op;
    for (int i = 0; i < 2; i++) {
        braid_op *pivot_i = tg1(m->g, "Identity", NULL, (braid_out){pivot, i}).op;
        ends[i] = (value){{choice, i}, BRAID_FLOAT, v.shape};
        for (int k = draw(m, 4); k > 0; k--)
            ends[i] = step_within(m, ends[i], pivot_i);
    }
    braid_op_desc *d = braid_op_begin(m->g, "Merge", NULL);
    braid_op_input_list(d, (braid_out[]){ends[0].out, ends[1].out}, 2);
    braid_op *merge = braid_op_end(d);
    bounded(m, push(m, (braid_out){merge, 0}, BRAID_FLOAT, v.shape));
    push(m, (braid_out){merge, 1}, BRAID_INT32, BRAID_SCALAR);
}

static void loop(maker *m)
{
    value v = any_of_type(m, BRAID_FLOAT), x = v;
    char frame[32];
    snprintf(frame, sizeof frame, "loop%d", m->count);
    tg_loop l = tg_loop_begin(m->g, frame, 1 + draw(m, 3), 2, (braid_out[]){tg_int(m->g, NULL, 0), v.out});
    tg_loop_condition(
        &l, tg2(m->g, "Less", NULL, l.merge[0], tg_enter(&l, tg_int(m->g, NULL, draw(m, 4)), true)));
    x.out = l.body[1];
    for (int k = draw(m, 4); k > 0; k--)
        x = step_within(m, x, l.body[0].op);
    braid_out next = tg2(m->g, "Add", NULL, l.body[0], tg_enter(&l, tg_int(m->g, NULL, 1), true));
    tg_loop_end(&l, (braid_out[]){next, x.out});
    bounded(m, push(m, l.exit[1], BRAID_FLOAT, v.shape));
}

#endif
