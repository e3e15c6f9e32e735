// The table of functions that nodes call.
// labels: concurrent
#include "op/callback.h"

#include "base/testing/test.h"
#include "base/thread.h"

static void count_release(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

// Unregisters itself while it runs.
static braid_code unregister(void *arg, const braid_callback_call *call, braid_status *status)
{
    (void)status;
    braid_callback_unregister(call->token);
    assert_int_equal(atomic_load((atomic_int *)arg), 0); // the call keeps it
    return BRAID_OK;
}

static void a_function_is_released_after_its_last_call(void **state)
{
    (void)state;
    atomic_int released = 0, refused = 0;
    assert_int_equal(braid_callback_register("once", unregister, &released, count_release, NULL), BRAID_OK);
    BD_STATUS(st);
    assert_int_equal(braid_callback_register("once", unregister, &refused, count_release, st),
                     BRAID_ALREADY_EXISTS);
    bd_callback *c = bd_callback_find("once");
    assert_int_equal(bd_callback_run(c, &(braid_callback_call){.token = "once"}, st), BRAID_OK);
    assert_null(bd_callback_find("once"));
    assert_int_equal(atomic_load(&released), 0);
    bd_callback_unref(c);
    assert_int_equal(atomic_load(&released), 1);
    assert_int_equal(atomic_load(&refused), 0);
}

static void what_is_no_function_is_refused(void **state)
{
    (void)state;
    BD_STATUS(st);
    assert_int_equal(braid_callback_register(NULL, unregister, NULL, NULL, st), BRAID_INVALID_ARGUMENT);
    assert_int_equal(braid_callback_register("x", NULL, NULL, NULL, NULL), BRAID_INVALID_ARGUMENT);
    braid_callback_unregister(NULL);
    braid_callback_unregister("x");
    assert_null(bd_callback_find("x"));
}

// ---- Threads ----

enum {
    THREADS = 4,
    ROUNDS = 500
};

typedef struct counts {
    atomic_int calls, released, registered;
} counts;

static braid_code count_call(void *arg, const braid_callback_call *call, braid_status *status)
{
    (void)call, (void)status;
    atomic_fetch_add(&((counts *)arg)->calls, 1);
    return BRAID_OK;
}

static void count_counts(void *arg)
{
    atomic_fetch_add(&((counts *)arg)->released, 1);
}

static void use(void *arg)
{
    counts *n = arg;
    BD_STATUS(st);
    for (int i = 0; i < ROUNDS; i++) {
        if (!braid_callback_register("shared", count_call, n, count_counts, NULL))
            atomic_fetch_add(&n->registered, 1);
        bd_callback *c = bd_callback_find("shared");
        if (c) bd_callback_run(c, &(braid_callback_call){.token = "shared"}, st);
        if (c) bd_callback_unref(c);
        braid_callback_unregister("shared");
    }
}

static void threads_may_register_and_call_at_once(void **state)
{
    (void)state;
    BD_STATUS(st);
    counts n = {0};
    bd_thread threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(bd_thread_start(&threads[i], "caller", use, &n, st), BRAID_OK);
    for (int i = 0; i < THREADS; i++)
        bd_thread_join(&threads[i]);
    assert_int_equal(atomic_load(&n.released), atomic_load(&n.registered));
    assert_null(bd_callback_find("shared"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_is_released_after_its_last_call),
        cmocka_unit_test(what_is_no_function_is_refused),
        cmocka_unit_test(threads_may_register_and_call_at_once),
    };
    return BD_RUN_TESTS(tests);
}
