// Short forms for building graphs in tests of the runtime, and a session to run them.
#ifndef BD_RUNTIME_TESTING_TEST_GRAPH_H
#define BD_RUNTIME_TESTING_TEST_GRAPH_H

#include "base/testing/test.h"
#include "graph/graph.h"
#include "runtime/session.h"

// ---- Nodes ----

static inline braid_out tg_node(braid_graph *g, const char *op, const char *name, int count,
                                const braid_out *inputs)
{
    return braid_output(braid_op_add(g, op, name, inputs, count), 0);
}
static inline braid_out tg1(braid_graph *g, const char *op, const char *name, braid_out a)
{
    return tg_node(g, op, name, 1, &a);
}
static inline braid_out tg2(braid_graph *g, const char *op, const char *name, braid_out a, braid_out b)
{
    return tg_node(g, op, name, 2, (braid_out[]){a, b});
}
static inline braid_out tg_const(braid_graph *g, const char *name, braid_tensor *value) // value is used up
{
    braid_op_desc *d = braid_op_begin(g, "Const", name);
    braid_op_attr_type(d, "dtype", braid_tensor_dtype(value));
    braid_op_attr_tensor(d, "value", value);
    braid_tensor_free(value);
    return braid_op_end_out(d);
}
static inline braid_out tg_float(braid_graph *g, const char *name, float value)
{
    return tg_const(g, name, braid_tensor_float(value));
}
static inline braid_out tg_int(braid_graph *g, const char *name, int32_t value)
{
    return tg_const(g, name, braid_tensor_int32(value));
}
static inline braid_out tg_placeholder(braid_graph *g, const char *name, braid_dtype dtype)
{
    braid_op_desc *d = braid_op_begin(g, "Placeholder", name);
    braid_op_attr_type(d, "dtype", dtype);
    return braid_op_end_out(d);
}
static inline braid_out tg_variable(braid_graph *g, const char *name, braid_dtype dtype)
{
    braid_op_desc *d = braid_op_begin(g, "VariableV2", name);
    braid_op_attr_type(d, "dtype", dtype);
    braid_op_attr_shape(d, "shape", BRAID_SCALAR);
    return braid_op_end_out(d);
}
// A node without data inputs that runs after others: NoOp, ControlTrigger, TestWait, ...
static inline braid_op *tg_after(braid_graph *g, const char *op, const char *name, int count,
                                 braid_op *const *ops)
{
    braid_op_desc *d = braid_op_begin(g, op, name);
    for (int i = 0; i < count; i++)
        braid_op_control(d, ops[i]);
    return braid_op_end(d);
}
// Identity of `a` that runs after `op`.
static inline braid_out tg_identity_after(braid_graph *g, const char *name, braid_out a, braid_op *op)
{
    braid_op_desc *d = braid_op_begin(g, "Identity", name);
    braid_op_input(d, a);
    braid_op_control(d, op);
    return braid_op_end_out(d);
}

// ---- Loops: tf.while_loop as Python builds it ----

#define TG_LOOP_VARS_MAX 4

typedef struct tg_loop {
    braid_graph *graph;
    const char *frame;
    int count, parallel_iterations;
    braid_out merge[TG_LOOP_VARS_MAX]; // values at the start of an iteration, which the condition gets
    braid_out body[TG_LOOP_VARS_MAX];  // values that the body sees
    braid_out exit[TG_LOOP_VARS_MAX];  // values after the loop
    braid_out switches[TG_LOOP_VARS_MAX];
} tg_loop;

static inline braid_out tg_enter(tg_loop *l, braid_out value, bool is_constant)
{
    braid_op_desc *d = braid_op_begin(l->graph, "Enter", NULL);
    braid_op_input(d, value);
    braid_op_attr_string(d, "frame_name", l->frame);
    braid_op_attr_bool(d, "is_constant", is_constant);
    braid_op_attr_int(d, "parallel_iterations", l->parallel_iterations);
    return braid_op_end_out(d);
}

static inline tg_loop tg_loop_begin(braid_graph *g, const char *frame, int parallel_iterations, int count,
                                    const braid_out *init)
{
    tg_loop l = {.graph = g, .frame = frame, .count = count, .parallel_iterations = parallel_iterations};
    for (int i = 0; i < count; i++) {
        braid_out enter = tg_enter(&l, init[i], false);
        braid_op_desc *d = braid_op_begin(g, "Merge", NULL);
        braid_op_input_list(d, (braid_out[]){enter, enter}, 2); // the second is set at the end
        l.merge[i] = braid_op_end_out(d);
    }
    return l;
}

static inline void tg_loop_condition(tg_loop *l, braid_out condition)
{
    braid_out cond = tg1(l->graph, "LoopCond", NULL, condition);
    for (int i = 0; i < l->count; i++) {
        l->switches[i] = tg2(l->graph, "Switch", NULL, l->merge[i], cond);
        l->exit[i] = tg1(l->graph, "Exit", NULL, l->switches[i]);
        l->body[i] = tg1(l->graph, "Identity", NULL, (braid_out){.op = l->switches[i].op, .index = 1});
    }
}

static inline void tg_loop_end(tg_loop *l, const braid_out *next)
{
    for (int i = 0; i < l->count; i++) {
        braid_out n = tg1(l->graph, "NextIteration", NULL, next[i]);
        if (l->merge[i].op && n.op) bd_node_set_input(l->merge[i].op, 1, n);
    }
}

// ---- Running ----

// Sessions run graphs as they are built, until a test program sets this to 0 and runs its tests again.
static unsigned tg_disabled_rewrites = BRAID_REWRITE_ALL;
#define TG_RUN_TESTS_WITH_AND_WITHOUT_REWRITES(tests)                                                        \
    ({                                                                                                       \
        int tg_failed = BD_RUN_TESTS(tests);                                                                 \
        tg_disabled_rewrites = 0;                                                                            \
        tg_failed + BD_RUN_TESTS(tests);                                                                     \
    })

static inline braid_session *tg_session(braid_graph *g, const braid_session_options *options)
{
    BD_STATUS(st);
    braid_graph_status(g, st);
    assert_ok(st);
    bd_session *impl;
    braid_session_options o = options ? *options : (braid_session_options){0};
    o.disabled_rewrites |= tg_disabled_rewrites;
    bd_direct_session_new(&o, &impl, st);
    assert_ok(st);
    return bd_session_wrap(g, impl);
}

static inline void tg_close(braid_session *s, braid_graph *g)
{
    BD_STATUS(st);
    braid_session_close(s, st);
    assert_ok(st);
    braid_graph_free(g);
}

// Fetches one output with at most one feed.
static inline braid_code tg_try(braid_session *s, braid_out fetch, const braid_feed *feed,
                                braid_tensor **value, braid_status *st)
{
    *value = NULL;
    braid_fetch f = {.out = fetch, .value = value};
    braid_run_args args = {.feeds = feed, .feed_count = feed != NULL, .fetches = &f, .fetch_count = 1};
    return braid_session_run(s, &args, st);
}

static inline double tg_fetch(braid_session *s, braid_out fetch, const braid_feed *feed)
{
    BD_STATUS(st);
    braid_tensor *t;
    tg_try(s, fetch, feed, &t, st);
    assert_ok(st);
    double value = 0;
    switch (t->dtype) {
    case BRAID_FLOAT: value = bd_tensor_f32(t)[0]; break;
    case BRAID_INT32: value = bd_tensor_i32(t)[0]; break;
    case BRAID_BOOL: value = bd_tensor_bool(t)[0]; break;
    default: fail_msg("a fetch of type %s", braid_dtype_name(t->dtype));
    }
    braid_tensor_free(t);
    return value;
}

static inline braid_code tg_run(braid_session *s, braid_op *target, braid_status *st)
{
    braid_run_args args = {.targets = &target, .target_count = 1};
    return braid_session_run(s, &args, st);
}

#define tg_assert_fetch(session, out, feed, expected)                                                        \
    assert_float_equal(tg_fetch((session), (out), (feed)), (expected), 1e-6)

#endif
