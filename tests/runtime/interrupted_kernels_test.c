// A step that is over its time frees its thread: long kernels end early, and what they leave is not used.
// labels: concurrent
// timeout: 120
#include "runtime/testing/test_graph.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    TIMEOUT_MS = 30, // a quarter of what the quickest kernel takes
    // Of the processor, on all threads: a kernel ends within 100 ms of the timeout. A whole one takes more.
    PATIENCE_MS = 600
};

typedef struct long_kernel {
    const char *op;
    braid_dtype dtype;
    braid_shape x, y; // y of rank 0: the op has one input
} long_kernel;

static braid_tensor *zeros(braid_dtype dtype, braid_shape shape)
{
    braid_tensor *t = braid_tensor_new(dtype, shape, NULL);
    assert_non_null(t);
    memset(t->data, 0, bd_tensor_bytes(t));
    return t;
}

// Times do not count then.
static bool is_sanitized(void)
{
    const char *by = getenv("BRAID_SANITIZE");
    return by && by[0];
}

// Returns how much time of the processor it took, which other processes do not change.
static int64_t run_for(braid_graph *g, const braid_feed *feeds, int count, braid_out y, braid_status *st)
{
    braid_session *s = tg_session(g, &(braid_session_options){0});
    braid_tensor *out = NULL;
    braid_fetch fetch = {y, &out};
    const clock_t begin = clock();
    braid_session_run(s,
                      &(braid_run_args){.feeds = feeds,
                                        .feed_count = count,
                                        .fetches = &fetch,
                                        .fetch_count = 1,
                                        .timeout_ms = TIMEOUT_MS},
                      st);
    const int64_t ms = (clock() - begin) / (CLOCKS_PER_SEC / 1000);
    assert_null(out);
    BD_STATUS(closed);
    braid_session_close(s, closed);
    return ms;
}

static void a_long_kernel_ends_with_its_step(void **state)
{
    (void)state;
    static const long_kernel kernels[] = {
        {"MatMul", BRAID_FLOAT, {.rank = 2, .dims = {9000, 9000}}, {.rank = 2, .dims = {9000, 9000}}},
        {"MatMul", BRAID_DOUBLE, {.rank = 2, .dims = {4000, 4000}}, {.rank = 2, .dims = {4000, 4000}}},
        {"BatchMatMul",
         BRAID_FLOAT,
         {.rank = 3, .dims = {1000000, 4, 16}},
         {.rank = 3, .dims = {1000000, 16, 4}}},
        {"Lgamma", BRAID_DOUBLE, {.rank = 1, .dims = {60000000}}, {0}},
        {"Pow", BRAID_DOUBLE, {.rank = 2, .dims = {6000, 6000}}, {.rank = 2, .dims = {6000, 1}}},
        {"LogSoftmax", BRAID_DOUBLE, {.rank = 2, .dims = {6000000, 10}}, {0}},
        {"MatrixDeterminant", BRAID_DOUBLE, {.rank = 2, .dims = {4000, 4000}}, {0}},
        {"Qr", BRAID_DOUBLE, {.rank = 2, .dims = {2500, 2500}}, {0}},
    };
    for (size_t i = 0; i < BD_COUNTOF(kernels); i++) {
        const long_kernel *k = &kernels[i];
        BD_STATUS(st);
        braid_graph *g = braid_graph_new();
        braid_feed feeds[2] = {{tg_placeholder(g, NULL, k->dtype), zeros(k->dtype, k->x)}};
        const int count = k->y.rank ? 2 : 1;
        if (k->y.rank) feeds[1] = (braid_feed){tg_placeholder(g, NULL, k->dtype), zeros(k->dtype, k->y)};
        if (k->x.rank == 2 && !k->y.rank) { // the identity
            for (int64_t d = 0; d < k->x.dims[0] && d < k->x.dims[1]; d++)
                bd_tensor_f64((braid_tensor *)feeds[0].value)[d * (k->x.dims[1] + 1)] = 1;
        }
        braid_out inputs[2] = {feeds[0].out, feeds[1].out};
        const int64_t ms = run_for(g, feeds, count, tg_node(g, k->op, NULL, count, inputs), st);
        if (st->code != BRAID_DEADLINE_EXCEEDED || (ms > PATIENCE_MS && !is_sanitized()))
            fail_msg("%s (%zu) took %lld ms of the processor: %s", k->op, i, (long long)ms, st->message);
        for (int f = 0; f < count; f++)
            braid_tensor_free((braid_tensor *)feeds[f].value);
        braid_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_kernel_ends_with_its_step),
    };
    return BD_RUN_TESTS(tests);
}
