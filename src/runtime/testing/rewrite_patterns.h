// For tests of rewrites: the ops that remain of a graph, as a list.
#ifndef BD_RUNTIME_TESTING_REWRITE_PATTERNS_H
#define BD_RUNTIME_TESTING_REWRITE_PATTERNS_H

#include "base/alloc.h"
#include "runtime/client_graph.h"
#include "runtime/optimize.h"
#include "runtime/placer.h"
#include "runtime/testing/test_graph.h"
#include <braid/braid.h>

#define DEVICE "/job:localhost/replica:0/task:0/device:CPU:0"

// ---- Rewritten graphs ----

// The graph of one run on one device, rewritten; to be ended by bd_client_graph_fini.
static inline bd_client_graph rewritten(braid_graph *g, unsigned disabled, const char *const *feeds,
                                        int feed_count, const char *const *fetches, int fetch_count)
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
    bd_client_graph prepared;
    bd_client_graph_build(g, &signature, BD_FEED_BY_CALL_FRAME, NULL, &prepared, st);
    assert_ok(st);
    bd_optimize(&prepared.graph, disabled, st);
    assert_ok(st);
    return prepared;
}

// "Add MatMul MatMul": the ops of a graph in the order of the alphabet, but for arguments and results.
static inline char *ops_of(const braid_graph *g)
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

static inline void check_ops_after(braid_graph *g, unsigned rewrites, braid_out fetch, const char *expected)
{
    char *name = bd_asprintf("%s:%d", fetch.op->name, fetch.index);
    const char *feeds[] = {"x:0"};
    bool is_fed = braid_graph_find(g, "x") != NULL;
    bd_client_graph p =
        rewritten(g, BRAID_REWRITE_ALL & ~rewrites, feeds, is_fed, (const char *const *)&name, 1);
    char *ops = ops_of(&p.graph);
    assert_string_equal(ops, expected);
    bd_free(ops);
    bd_free(name);
    bd_client_graph_fini(&p);
}

// With all rewrites disabled each node that the run needs is kept.
static inline void check_untouched_without(braid_graph *g, braid_out fetch, int built)
{
    char *name = bd_asprintf("%s:%d", fetch.op->name, fetch.index);
    bd_client_graph p = rewritten(g, BRAID_REWRITE_ALL, NULL, 0, (const char *const *)&name, 1);
    assert_int_equal(p.graph.nodes.len, built + 1); // and _Retval
    bd_free(name);
    bd_client_graph_fini(&p);
}

static inline braid_out vector(braid_graph *g, const char *name, int64_t n)
{
    braid_tensor *t = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(n), NULL);
    for (int64_t i = 0; i < n; i++)
        bd_tensor_f32(t)[i] = (float)i;
    return tg_const(g, name, t);
}

static inline braid_out int_vector(braid_graph *g, int32_t a, int32_t b)
{
    braid_tensor *t = braid_tensor_new(BRAID_INT32, BRAID_SHAPE(2), NULL);
    bd_tensor_i32(t)[0] = a;
    bd_tensor_i32(t)[1] = b;
    return tg_const(g, NULL, t);
}

static inline braid_out x_of(braid_graph *g) // the fed value
{
    braid_op *x = braid_graph_find(g, "x");
    return x ? (braid_out){x, 0} : tg_placeholder(g, "x", BRAID_FLOAT);
}

typedef struct pattern {
    const char *what;
    unsigned rewrites;
    braid_out (*build)(braid_graph *g); // the fetched output; "x" is fed if it exists
    const char *expected;               // ops that are left
} pattern;

// Each pattern with its rewrites on, and with all off.
static inline void check_patterns(const pattern *patterns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        print_message("%s\n", patterns[i].what);
        braid_graph *g = braid_graph_new();
        braid_out fetch = patterns[i].build(g);
        int built = braid_graph_num_ops(g);
        check_ops_after(g, patterns[i].rewrites, fetch, patterns[i].expected);
        check_untouched_without(g, fetch, built);
        braid_graph_free(g);
    }
}

static inline braid_tensor *fetch_one(braid_graph *g, unsigned disabled, braid_out fetch,
                                      const braid_tensor *x, braid_status *st)
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

#endif
