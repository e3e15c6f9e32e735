// Groups of collectives at their leader: waiting for members, and how each wait ends.
#include "base/check.h"
#include "base/thread.h"
#include "runtime/collective_groups.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DEVICE(n) "/job:worker/replica:0/task:" #n "/device:CPU:0"

typedef struct outcome {
    int calls;
    braid_code code;
    int size, source;
    uint64_t first_incarnation;
} outcome;

static void note(void *arg, const bd_collective_group *group, const braid_status *st)
{
    outcome *o = arg;
    o->calls++;
    o->code = st->code;
    if (st->code) return;
    o->size = group->size;
    o->source = group->source;
    o->first_incarnation = group->incarnations[0];
    for (int i = 1; i < group->size; i++)
        assert_true(strverscmp(group->devices[i - 1], group->devices[i]) < 0);
}

static bd_collective_join member(const char *device, int32_t size, int type, bool is_source)
{
    return (bd_collective_join){.name = "n",
                                .device = device,
                                .device_type = "CPU",
                                .incarnation = 7,
                                .group_key = 1,
                                .group_size = size,
                                .instance_key = 2,
                                .type = type,
                                .dtype = 1,
                                .is_source = is_source};
}

static void join(bd_collective_groups *g, bd_collective_join j, bd_cancellation *c, outcome *o)
{
    bd_collective_groups_join(g, &j, c, note, o);
}

static void a_group_waits_for_all_its_members(void **state)
{
    (void)state;
    bd_collective_groups *g = bd_collective_groups_new();
    bd_cancellation *c = bd_cancellation_new(NULL);
    outcome a = {0}, b = {0}, again = {0};
    join(g, member(DEVICE(1), 2, BD_COLLECTIVE_REDUCTION, false), c, &a);
    join(g, member(DEVICE(1), 2, BD_COLLECTIVE_REDUCTION, false), c,
         &again); // the same device, not another one
    assert_int_equal(a.calls + again.calls, 0);
    join(g, member(DEVICE(0), 2, BD_COLLECTIVE_REDUCTION, false), c, &b);
    const outcome *all[] = {&a, &b, &again};
    for (size_t i = 0; i < BD_COUNTOF(all); i++) {
        assert_int_equal(all[i]->calls, 1);
        assert_int_equal(all[i]->code, BRAID_OK);
        assert_int_equal(all[i]->size, 2);
    }
    bd_collective_join restarted = member(DEVICE(0), 2, BD_COLLECTIVE_REDUCTION, false);
    restarted.incarnation = 8;
    join(g, restarted, c, &b);
    assert_int_equal(b.first_incarnation, 8);
    bd_cancellation_unref(c);
    bd_collective_groups_free(g);
}

static void members_are_in_the_order_of_their_numbers(void **state)
{
    (void)state;
    bd_collective_groups *g = bd_collective_groups_new();
    bd_cancellation *c = bd_cancellation_new(NULL);
    outcome two = {0}, ten = {0};
    bd_collective_join second = member(DEVICE(2), 2, BD_COLLECTIVE_REDUCTION, false);
    second.incarnation = 2;
    join(g, member(DEVICE(10), 2, BD_COLLECTIVE_REDUCTION, false), c, &ten);
    join(g, second, c, &two);
    assert_int_equal(two.code, BRAID_OK);
    assert_int_equal(two.first_incarnation, 2);
    bd_cancellation_unref(c);
    bd_collective_groups_free(g);
}

static void a_broadcast_waits_for_its_source(void **state)
{
    (void)state;
    bd_collective_groups *g = bd_collective_groups_new();
    bd_cancellation *c = bd_cancellation_new(NULL);
    outcome a = {0}, b = {0}, d = {0};
    join(g, member(DEVICE(0), 3, BD_COLLECTIVE_BROADCAST, false), c, &a); // waits for the group
    join(g, member(DEVICE(1), 3, -1, false), c, &b);                      // wants the group only
    join(g, member(DEVICE(2), 3, BD_COLLECTIVE_BROADCAST, false), c,
         &d); // completes it, waits for the source
    assert_int_equal(b.calls, 1);
    assert_int_equal(a.calls + d.calls, 0);
    join(g, member(DEVICE(1), 3, BD_COLLECTIVE_BROADCAST, true), c, &b);
    assert_int_equal(a.calls, 1);
    assert_int_equal(a.source, 1);
    assert_int_equal(d.source, 1);
    assert_int_equal(b.source, 1);
    bd_cancellation_unref(c);
    bd_collective_groups_free(g);
}

static void members_must_agree(void **state)
{
    (void)state;
    bd_collective_groups *g = bd_collective_groups_new();
    bd_cancellation *c = bd_cancellation_new(NULL);
    outcome ok = {0}, wrong = {0};
    join(g, member(DEVICE(0), 1, BD_COLLECTIVE_REDUCTION, false), c, &ok);
    assert_int_equal(ok.code, BRAID_OK);
    bd_collective_join other = member(DEVICE(0), 1, BD_COLLECTIVE_REDUCTION, false);
    const struct {
        bd_collective_join join;
        braid_code code;
    } cases[] = {
        {member(DEVICE(0), 2, BD_COLLECTIVE_REDUCTION, false), BRAID_INTERNAL},
        {member(DEVICE(1), 1, BD_COLLECTIVE_REDUCTION, false), BRAID_INTERNAL},
        {member(DEVICE(0), 1, BD_COLLECTIVE_GATHER, false), BRAID_INTERNAL},
        {(other.dtype = 2, other), BRAID_INTERNAL},
        {(other.device_type = "GPU", other), BRAID_INTERNAL},
        {member(DEVICE(0), 0, BD_COLLECTIVE_REDUCTION, false), BRAID_INVALID_ARGUMENT},
        {member("x", 1, BD_COLLECTIVE_REDUCTION, false), BRAID_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        join(g, cases[i].join, c, &wrong);
        assert_int_equal(wrong.calls, (int)i + 1);
        assert_int_equal(wrong.code, cases[i].code);
    }
    bd_cancellation_unref(c);
    bd_collective_groups_free(g);
}

static void cancelling_ends_a_wait(void **state)
{
    (void)state;
    bd_collective_groups *g = bd_collective_groups_new();
    bd_cancellation *c = bd_cancellation_new(NULL);
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, "enough");
    outcome early = {0}, late = {0};
    join(g, member(DEVICE(0), 2, BD_COLLECTIVE_REDUCTION, false), c, &early);
    bd_cancellation_cancel(c, why);
    join(g, member(DEVICE(0), 2, BD_COLLECTIVE_REDUCTION, false), c, &late);
    assert_int_equal(early.calls, 1);
    assert_int_equal(early.code, BRAID_CANCELLED);
    assert_int_equal(late.calls, 1);
    assert_int_equal(late.code, BRAID_CANCELLED);
    bd_cancellation_unref(c);
    bd_collective_groups_free(g);
}

// ---- Many threads ----

static void count_answer(void *arg, const bd_collective_group *group, const braid_status *st)
{
    assert_true((group != NULL) == (st->code == BRAID_OK));
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void count_ok(void *arg, const bd_collective_group *group, const braid_status *st)
{
    assert_int_equal(st->code, BRAID_OK);
    count_answer(arg, group, st);
}

// With more groups than the limit, the least recently joined ones are evicted, but none with waiters.
static void old_groups_make_room(void **state)
{
    (void)state;
    enum {
        REMEMBERED = 4096
    };
    static const char *const devices[] = {"/job:worker/replica:0/task:0/device:CPU:0",
                                          "/job:worker/replica:0/task:1/device:CPU:0"};
    bd_cancellation *token = bd_cancellation_new(NULL);
    bd_collective_groups *g = bd_collective_groups_new();
    atomic_int answers = 0;
    bd_collective_join m = member(devices[0], 2, BD_COLLECTIVE_REDUCTION, false);
    m.group_key = -1;
    bd_collective_groups_join(g, &m, token, count_answer, &answers); // waits for the other
    for (int i = 0; i < 2 * REMEMBERED; i++) {
        bd_collective_join one = member(devices[0], 1, BD_COLLECTIVE_REDUCTION, false);
        one.group_key = i;
        bd_collective_groups_join(g, &one, token, count_ok, &answers);
    }
    assert_int_equal(atomic_load(&answers), 2 * REMEMBERED);
    // An evicted group may come back with another size; a kept one must keep its size.
    for (int old = 1; old >= 0; old--) {
        bd_collective_join other = member(devices[1], 1, BD_COLLECTIVE_REDUCTION, false);
        other.group_key = old ? 0 : 2 * REMEMBERED - 1;
        atomic_int ok = 0;
        bd_collective_groups_join(g, &other, token, old ? count_ok : count_answer, &ok);
        assert_int_equal(atomic_load(&ok), 1);
    }
    m.device = devices[1];
    bd_collective_groups_join(g, &m, token, count_ok, &answers);
    assert_int_equal(atomic_load(&answers), 2 * REMEMBERED + 2);
    bd_collective_groups_free(g);
    bd_cancellation_unref(token);
}

enum {
    THREADS = 4,
    ROUNDS = 300,
};

typedef struct joiner {
    bd_collective_groups *groups;
    bd_cancellation **tokens; // [ROUNDS]
    int index;
    atomic_int *answers;
} joiner;

// Joins group after group, and cancels every other one, while the other threads do the same.
static void join_many(void *arg)
{
    const joiner *j = arg;
    char device[64];
    snprintf(device, sizeof device, "/job:worker/replica:0/task:%d/device:CPU:0", j->index);
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, "enough");
    for (int i = 0; i < ROUNDS; i++) {
        bd_collective_join m = member(device, THREADS, BD_COLLECTIVE_BROADCAST, j->index == i % THREADS);
        m.group_key = i;
        bd_collective_groups_join(j->groups, &m, j->tokens[i], count_answer, j->answers);
        if (i % 2 && j->index == i / 2 % THREADS) bd_cancellation_cancel(j->tokens[i], why);
    }
}

static void every_wait_of_many_threads_ends_once(void **state)
{
    (void)state;
    bd_cancellation *tokens[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        tokens[i] = bd_cancellation_new(NULL);
    atomic_int answers = 0;
    bd_collective_groups *g = bd_collective_groups_new();
    bd_thread threads[THREADS];
    joiner joiners[THREADS];
    BD_STATUS(st);
    for (int t = 0; t < THREADS; t++) {
        joiners[t] = (joiner){g, tokens, t, &answers};
        assert_int_equal(bd_thread_start(&threads[t], "joiner", join_many, &joiners[t], st), BRAID_OK);
    }
    for (int t = 0; t < THREADS; t++)
        bd_thread_join(&threads[t]);
    assert_int_equal(atomic_load(&answers), THREADS * ROUNDS);
    for (int i = 0; i < ROUNDS; i++)
        bd_cancellation_unref(tokens[i]);
    bd_collective_groups_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_waits_for_all_its_members),
        cmocka_unit_test(members_are_in_the_order_of_their_numbers),
        cmocka_unit_test(a_broadcast_waits_for_its_source),
        cmocka_unit_test(members_must_agree),
        cmocka_unit_test(cancelling_ends_a_wait),
        cmocka_unit_test(old_groups_make_room),
        cmocka_unit_test(every_wait_of_many_threads_ends_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
