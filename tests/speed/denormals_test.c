// Kernels take denormal numbers for zero, on all threads; the program that runs a step keeps its own
// arithmetic.
#include <braid/braid.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum {
    COUNT = 1 << 20 // enough for several threads
};

static float times(float a, float b)
{
    volatile float x = a, y = b;
    return x * y;
}

static void squares_of_small_numbers_are_zero(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_status *st = braid_status_new();
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(COUNT)), y = braid_square(g, x);
    for (int threads = 1; threads <= 4; threads += 3) {
        const braid_session_options options = {.inter_op_threads = threads, .intra_op_threads = threads};
        braid_session *s = braid_session_open(g, &options, st);
        braid_tensor *small = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(COUNT), st), *out = NULL;
        for (int i = 0; i < COUNT; i++)
            ((float *)braid_tensor_data(small))[i] = 1e-20f; // its square is denormal
        const braid_feed feed = {x, small};
        braid_fetch fetch = {y, &out};
        const braid_run_args args = {.feeds = &feed, .feed_count = 1, .fetches = &fetch, .fetch_count = 1};
        assert_int_equal(braid_session_run(s, &args, st), BRAID_OK);
        int wrong = 0;
        for (int i = 0; i < COUNT; i++)
            wrong += ((const float *)braid_tensor_data(out))[i] > 0;
        assert_int_equal(wrong, 0);
        assert_true(times(1e-20f, 1e-20f) > 0); // here it is not zero
        braid_tensor_free(small);
        braid_tensor_free(out);
        assert_int_equal(braid_session_close(s, st), BRAID_OK);
    }
    braid_graph_free(g);
    braid_status_free(st);
}

int main(void)
{
#if !defined(__x86_64__) && !defined(__aarch64__)
    return 77;
#endif
    const struct CMUnitTest tests[] = {cmocka_unit_test(squares_of_small_numbers_are_zero)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
