// What a child of fork finds of its parent's locks.
#include "base/fork.h"
#include "base/testing/test.h"
#include "base/thread.h"
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct holder {
    bd_mutex mu;
    bd_event is_held, may_end;
} holder;

static void hold(void *arg)
{
    holder *h = arg;
    bd_mutex_lock(&h->mu);
    bd_event_set(&h->is_held);
    bd_event_wait(&h->may_end);
    bd_mutex_unlock(&h->mu);
}

typedef struct changer {
    bd_mutex *mu;
    atomic_bool *ends;
    int *changes;
} changer;

static void change(void *arg)
{
    const changer *c = arg;
    while (!atomic_load(c->ends)) {
        bd_mutex_lock(c->mu);
        c->changes[0]++;
        sched_yield(); // the fork comes here, if it does not wait
        c->changes[1]++;
        bd_mutex_unlock(c->mu);
    }
}

// In the child: 0 when all is as it should be.
static int check_child(bd_mutex *held, bd_mutex *unheld, unsigned count)
{
    if (bd_fork_count() == count) return 1;
    if (!bd_mutex_renew(held)) return 2;
    if (bd_mutex_renew(held)) return 3; // it is free now
    if (bd_mutex_renew(unheld)) return 4;
    bd_mutex_lock(held);
    bd_mutex_unlock(held);
    return 0;
}

static void a_mutex_of_a_thread_that_is_not_there_becomes_free(void **state)
{
    (void)state;
    BD_STATUS(st);
    holder h;
    bd_mutex unheld;
    bd_thread thread;
    bd_mutex_init(&h.mu);
    bd_mutex_init(&unheld);
    bd_event_init(&h.is_held);
    bd_event_init(&h.may_end);
    assert_int_equal(bd_thread_start(&thread, "holder", hold, &h, st), BRAID_OK);
    bd_event_wait(&h.is_held);
    const unsigned count = bd_fork_count();
    const pid_t child = fork();
    if (child == 0) _exit(check_child(&h.mu, &unheld, count));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(bd_fork_count(), count);
    bd_event_set(&h.may_end);
    bd_thread_join(&thread);
    bd_event_fini(&h.is_held);
    bd_event_fini(&h.may_end);
    bd_mutex_fini(&h.mu);
    bd_mutex_fini(&unheld);
}

static void a_mutex_is_kept_across_forks(void **state)
{
    (void)state;
    enum {
        FORKS = 50
    };
    static bd_mutex mu = BD_MUTEX_INIT;
    static atomic_bool ends;
    static int changes[2]; // equal while no thread holds `mu`
    BD_STATUS(st);
    bd_thread thread;
    bd_mutex_across_forks(&mu);
    assert_int_equal(bd_thread_start(&thread, "changer", change, &(changer){&mu, &ends, changes}, st),
                     BRAID_OK);
    for (int i = 0; i < FORKS; i++) {
        const pid_t child = fork();
        if (child == 0) {
            bd_mutex_lock(&mu);
            _exit(changes[0] != changes[1]);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    atomic_store(&ends, true);
    bd_thread_join(&thread);
}

static int calls;
static void count_call(void)
{
    calls++;
}

static void functions_run_before_and_after_on_both_sides(void **state)
{
    (void)state;
    bd_at_fork(count_call, count_call, count_call);
    const pid_t child = fork();
    if (child == 0) _exit(calls);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 2);
    assert_int_equal(calls, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mutex_of_a_thread_that_is_not_there_becomes_free),
        cmocka_unit_test(a_mutex_is_kept_across_forks),
        cmocka_unit_test(functions_run_before_and_after_on_both_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
