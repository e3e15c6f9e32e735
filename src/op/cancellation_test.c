// Cancellation tokens: trees, hooks, and hooks that are taken back while they run.
// labels: concurrent
#include "base/testing/test.h"
#include "base/thread.h"
#include "op/cancellation.h"

typedef struct counted_hook {
    bd_cancel_hook hook;
    int calls;
    char message[64];
} counted_hook;

static void count_call(bd_cancel_hook *hook, const braid_status *why)
{
    counted_hook *h = BD_CONTAINER_OF(hook, counted_hook, hook);
    h->calls++;
    strncpy(h->message, braid_status_message(why), sizeof h->message - 1);
}

static void cancel(bd_cancellation *c, const char *message)
{
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, "%s", message);
    bd_cancellation_cancel(c, why);
}

static void a_token_is_cancelled_once_with_its_first_reason(void **state)
{
    (void)state;
    bd_cancellation *c = bd_cancellation_new(NULL);
    BD_STATUS(st);
    assert_false(bd_cancellation_is_cancelled(c));
    assert_int_equal(bd_cancellation_status(c, st), BRAID_OK);
    cancel(c, "first");
    cancel(c, "second");
    assert_true(bd_cancellation_is_cancelled(c));
    bd_cancellation_status(c, st);
    assert_error(st, BRAID_CANCELLED, "first");
    bd_cancellation_unref(c);
}

static void no_token_is_never_cancelled(void **state)
{
    (void)state;
    BD_STATUS(st);
    assert_false(bd_cancellation_is_cancelled(NULL));
    assert_int_equal(bd_cancellation_status(NULL, st), BRAID_OK);
}

static void a_hook_runs_once_and_not_when_taken_back(void **state)
{
    (void)state;
    bd_cancellation *c = bd_cancellation_new(NULL);
    counted_hook kept = {.hook.fn = count_call}, taken = {.hook.fn = count_call},
                 late = {.hook.fn = count_call};
    assert_true(bd_cancellation_add(c, &kept.hook));
    assert_true(bd_cancellation_add(c, &taken.hook));
    assert_true(bd_cancellation_remove(c, &taken.hook));
    cancel(c, "enough");
    assert_int_equal(kept.calls, 1);
    assert_string_equal(kept.message, "enough");
    assert_int_equal(taken.calls, 0);
    assert_false(bd_cancellation_remove(c, &kept.hook));
    assert_false(bd_cancellation_add(c, &late.hook));
    assert_int_equal(late.calls, 0);
    bd_cancellation_unref(c);
}

static void cancelling_a_parent_cancels_children_and_not_the_other_way_round(void **state)
{
    (void)state;
    bd_cancellation *parent = bd_cancellation_new(NULL);
    bd_cancellation *a = bd_cancellation_new(parent), *b = bd_cancellation_new(parent);
    bd_cancellation *grandchild = bd_cancellation_new(a);
    cancel(b, "only b");
    assert_false(bd_cancellation_is_cancelled(parent));
    assert_false(bd_cancellation_is_cancelled(a));
    cancel(parent, "all");
    assert_true(bd_cancellation_is_cancelled(grandchild));
    BD_STATUS(st);
    bd_cancellation_status(grandchild, st);
    assert_error(st, BRAID_CANCELLED, "all");
    bd_cancellation_status(b, st);
    assert_error(st, BRAID_CANCELLED, "only b");
    bd_cancellation *born_late = bd_cancellation_new(parent);
    assert_true(bd_cancellation_is_cancelled(born_late));
    bd_cancellation_unref(born_late);
    bd_cancellation_unref(grandchild);
    bd_cancellation_unref(a);
    bd_cancellation_unref(b);
    bd_cancellation_unref(parent);
}

static void a_child_that_is_freed_leaves_its_parent(void **state)
{
    (void)state;
    bd_cancellation *parent = bd_cancellation_new(NULL);
    bd_cancellation_unref(bd_cancellation_new(parent));
    cancel(parent, "nobody left");
    bd_cancellation_unref(parent);
}

typedef struct self_removing {
    bd_cancel_hook hook;
    bd_cancellation *token, *child;
    bool removed;
} self_removing;

static void remove_self(bd_cancel_hook *hook, const braid_status *why)
{
    (void)why;
    self_removing *h = BD_CONTAINER_OF(hook, self_removing, hook);
    h->removed = bd_cancellation_remove(h->token, &h->hook);
    bd_cancellation_unref(h->child); // the last reference to a child, from within its parent's cancellation
}

static void a_hook_may_take_itself_back_and_free_children(void **state)
{
    (void)state;
    bd_cancellation *c = bd_cancellation_new(NULL);
    self_removing h = {.hook.fn = remove_self, .token = c, .child = bd_cancellation_new(c), .removed = true};
    assert_true(bd_cancellation_add(c, &h.hook));
    cancel(c, "now");
    assert_false(h.removed);
    bd_cancellation_unref(c);
}

typedef struct slow_hook {
    bd_cancel_hook hook;
    bd_event running, may_end;
    atomic_bool ended;
} slow_hook;

static void run_slowly(bd_cancel_hook *hook, const braid_status *why)
{
    (void)why;
    slow_hook *h = BD_CONTAINER_OF(hook, slow_hook, hook);
    bd_event_set(&h->running);
    bd_event_wait(&h->may_end);
    atomic_store(&h->ended, true);
}

static void cancel_thread(void *arg)
{
    cancel(arg, "from another thread");
}

static void let_it_end(void *arg)
{
    bd_event_set(&((slow_hook *)arg)->may_end);
}

static void removing_a_hook_waits_while_another_thread_runs_it(void **state)
{
    (void)state;
    bd_cancellation *c = bd_cancellation_new(NULL);
    slow_hook h = {.hook.fn = run_slowly};
    bd_event_init(&h.running);
    bd_event_init(&h.may_end);
    assert_true(bd_cancellation_add(c, &h.hook));
    bd_thread canceller, releaser;
    BD_STATUS(st);
    bd_thread_start(&canceller, "cancel", cancel_thread, c, st);
    assert_ok(st);
    bd_event_wait(&h.running);
    bd_thread_start(&releaser, "release", let_it_end, &h, st);
    assert_ok(st);
    assert_false(bd_cancellation_remove(c, &h.hook));
    assert_true(atomic_load(&h.ended));
    bd_thread_join(&canceller);
    bd_thread_join(&releaser);
    bd_event_fini(&h.running);
    bd_event_fini(&h.may_end);
    bd_cancellation_unref(c);
}

// One thread makes and frees children while another cancels their parent.
static void churn(void *arg)
{
    bd_cancellation *parent = arg;
    for (int i = 0; i < 2000; i++) {
        bd_cancellation *child = bd_cancellation_new(parent);
        counted_hook h = {.hook.fn = count_call};
        bool added = bd_cancellation_add(child, &h.hook);
        bool removed = bd_cancellation_remove(child, &h.hook);
        BD_ASSERT(h.calls == (added && !removed));
        bd_cancellation_unref(child);
    }
}

static void tokens_may_be_made_and_freed_while_their_parent_is_cancelled(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        bd_cancellation *parent = bd_cancellation_new(NULL);
        bd_thread threads[2];
        BD_STATUS(st);
        for (int i = 0; i < 2; i++)
            bd_thread_start(&threads[i], "churn", churn, parent, st);
        assert_ok(st);
        cancel(parent, "meanwhile");
        for (int i = 0; i < 2; i++)
            bd_thread_join(&threads[i]);
        bd_cancellation_unref(parent);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_cancelled_once_with_its_first_reason),
        cmocka_unit_test(no_token_is_never_cancelled),
        cmocka_unit_test(a_hook_runs_once_and_not_when_taken_back),
        cmocka_unit_test(cancelling_a_parent_cancels_children_and_not_the_other_way_round),
        cmocka_unit_test(a_child_that_is_freed_leaves_its_parent),
        cmocka_unit_test(a_hook_may_take_itself_back_and_free_children),
        cmocka_unit_test(removing_a_hook_waits_while_another_thread_runs_it),
        cmocka_unit_test(tokens_may_be_made_and_freed_while_their_parent_is_cancelled),
    };
    return BD_RUN_TESTS(tests);
}
