// Turns: calls of a connection are taken in order, a few at a time.
#include "cluster/transport/turns.h"

#include "base/testing/test.h"
#include <string.h>

#define MANY (3 * BD_TURNS_AT_ONCE)

typedef struct fixture {
    bd_turns turns;
    bd_turn calls[MANY];
} fixture;

// All calls arrive. Expects that the first ones have their turn.
static void arrive(fixture *f)
{
    memset(f, 0, sizeof *f);
    bd_turns_init(&f->turns);
    for (int i = 0; i < MANY; i++) {
        bool time_it;
        assert_int_equal(bd_turns_take(&f->turns, &f->calls[i], &time_it), i < BD_TURNS_AT_ONCE);
        assert_int_equal(time_it, i == BD_TURNS_AT_ONCE); // the first one that waits
    }
}

static void a_turn_that_ends_is_the_next_ones(void **state)
{
    (void)state;
    fixture f;
    arrive(&f);
    for (int i = 0; i < MANY; i++) {
        bd_turn *expected = i + BD_TURNS_AT_ONCE < MANY ? &f.calls[i + BD_TURNS_AT_ONCE] : NULL;
        assert_ptr_equal(bd_turns_end(&f.turns, &f.calls[i]), expected);
    }
    bool time_it;
    assert_true(bd_turns_take(&f.turns, &f.calls[0], &time_it));
    assert_null(bd_turns_end(&f.turns, &f.calls[0]));
    bd_turns_fini(&f.turns);
}

static void late_turns_count_no_more(void **state)
{
    (void)state;
    fixture f;
    bool time_it;
    arrive(&f);
    const bd_turn *turn = bd_turns_late(&f.turns, &time_it);
    for (int i = BD_TURNS_AT_ONCE; i < 2 * BD_TURNS_AT_ONCE; i++, turn = turn->next)
        assert_ptr_equal(turn, &f.calls[i]);
    assert_null(turn);
    assert_true(time_it);                             // more wait
    assert_null(bd_turns_end(&f.turns, &f.calls[0])); // one of the late: as many as may be have a turn
    assert_ptr_equal(bd_turns_end(&f.turns, &f.calls[BD_TURNS_AT_ONCE]), &f.calls[2 * BD_TURNS_AT_ONCE]);
    bd_turns_fini(&f.turns);
}

static void nothing_is_late_when_none_waits(void **state)
{
    (void)state;
    fixture f;
    bool time_it;
    arrive(&f);
    for (int i = 0; i < 2 * BD_TURNS_AT_ONCE; i++)
        bd_turns_end(&f.turns, &f.calls[i]);
    assert_null(bd_turns_late(&f.turns, &time_it));
    assert_false(time_it);
    bd_turn more;
    assert_false(bd_turns_take(&f.turns, &more, &time_it)); // those that have a turn still count
    assert_true(time_it);
    assert_ptr_equal(bd_turns_end(&f.turns, &f.calls[MANY - 1]), &more);
    bd_turns_fini(&f.turns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_that_ends_is_the_next_ones),
        cmocka_unit_test(late_turns_count_no_more),
        cmocka_unit_test(nothing_is_late_when_none_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
