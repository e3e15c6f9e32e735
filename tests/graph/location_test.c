// Errors tell the line of the program: errors of building, and errors of runs that name nodes.
#include <braid/braid.h>
#include <braid/raw_ops.h>

#include "base/testing/test.h"
#include <time.h>

#define LINES_FILE "model.c"

static void assert_built_at(const braid_op *op, int wanted)
{
    int line;
    assert_string_equal(braid_op_built_at(op, &line), LINES_FILE);
    assert_int_equal(line, wanted);
}

static void an_error_of_building_names_the_line(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    // clang-format off
#line 100 "model.c"
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2, 3));
    braid_out product = braid_matmul(g,
                                     x,
                                     braid_neg(g, x));
    braid_add(g, product, x);
    // clang-format on
    assert_int_equal(braid_graph_status(g, st), BRAID_INVALID_ARGUMENT);
    // A compiler may take the first or the last line of the call.
    assert_true(strstr(st->message, "(built at model.c:101)") ||
                strstr(st->message, "(built at model.c:103)"));
    assert_built_at(x.op, 100);
    braid_graph_free(g);
}

static void every_node_of_a_call_has_its_line(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
#line 200 "model.c"
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, 3));
    braid_out logits = braid_dense(g, "model", x, 2);
    braid_op *train = braid_minimize(braid_gradient_descent(g, 1), braid_reduce_mean(g, logits), BRAID_NONE);
    braid_out raw = braid_raw_Neg(g, NULL, x);
    assert_int_equal(braid_graph_status(g, NULL), BRAID_OK);
    assert_built_at(braid_graph_find(g, "model/kernel"), 201);
    assert_built_at(logits.op, 201);
    assert_built_at(train, 202);
    assert_built_at(raw.op, 203);
    braid_graph_free(g);
}

static void an_error_of_a_run_names_the_lines_of_its_nodes(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
#line 300 "model.c"
    braid_out a = braid_placeholder(g, "a", BRAID_FLOAT, BRAID_SHAPE_UNKNOWN);
    braid_out b = braid_matmul(g, a, a);
    braid_session *s = braid_session_open(g, NULL, st);
    assert_ok(st);
    float values[6] = {0};
    braid_tensor *fed = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(2, 3), values, NULL), *value = NULL;
    const braid_feed feed = {a, fed};
    const braid_fetch fetch = {b, &value};
    braid_session_run(
        s, &(braid_run_args){.feeds = &feed, .feed_count = 1, .fetches = &fetch, .fetch_count = 1}, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "[[{{node MatMul}}]] (built at model.c:301)");
    braid_callable *c = braid_callable_new(
        s, &(braid_signature){.feeds = &a, .feed_count = 1, .fetches = &b, .fetch_count = 1}, NULL, st);
    braid_callable_run(c, (const braid_tensor *[]){fed}, &value, NULL, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "[[{{node MatMul}}]] (built at model.c:301)");
    braid_callable_free(c);
    // What is built after a run without the macros has no line.
    assert_null(braid_op_built_at((braid_neg)(g, a).op, NULL));
    braid_tensor_free(fed);
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

static void functions_have_addresses(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out (*unary)(braid_graph *, braid_out) = braid_neg;
    assert_non_null(unary(g, braid_const_float(g, NULL, 1)).op);
    braid_graph_free(g);
}

static int64_t processor_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// The bound is far above the 5 ns that a call needs. Other processes do not change the time of the processor.
static void noting_a_line_is_cheap(void **state)
{
    (void)state;
    enum {
        TIMES = 1000000
    };
    const int64_t begin = processor_ns();
    for (int i = 0; i < TIMES; i++)
        braid_here(__FILE__, i);
    const int64_t ns = (processor_ns() - begin) / TIMES;
    print_message("%lld ns a call\n", (long long)ns);
    assert_true(ns < 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_of_building_names_the_line),
        cmocka_unit_test(every_node_of_a_call_has_its_line),
        cmocka_unit_test(an_error_of_a_run_names_the_lines_of_its_nodes),
        cmocka_unit_test(functions_have_addresses),
        cmocka_unit_test(noting_a_line_is_cheap),
    };
    return BD_RUN_TESTS(tests);
}
