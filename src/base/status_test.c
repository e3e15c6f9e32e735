// How statuses are filled, copied and weighed against each other.
#include "base/testing/test.h"

static void a_new_status_is_ok(void **state)
{
    (void)state;
    braid_status *st = braid_status_new();
    assert_int_equal(braid_status_code(st), BRAID_OK);
    assert_string_equal(braid_status_message(st), "");
    braid_status_free(st);
    braid_status_free(NULL);
}

static void a_failure_has_code_and_message(void **state)
{
    (void)state;
    BD_STATUS(st);
    assert_int_equal(bd_fail(st, BRAID_NOT_FOUND, "no node %s:%d", "a/b", 3), BRAID_NOT_FOUND);
    assert_int_equal(braid_status_code(st), BRAID_NOT_FOUND);
    assert_string_equal(braid_status_message(st), "no node a/b:3");
    braid_status_clear(st);
    assert_int_equal(braid_status_code(st), BRAID_OK);
    assert_string_equal(braid_status_message(st), "");
}

static void a_message_may_be_made_from_the_old_one(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_fail(st, BRAID_INTERNAL, "inner");
    bd_fail(st, BRAID_ABORTED, "outer: %s", st->message);
    assert_string_equal(braid_status_message(st), "outer: inner");
    braid_status_set(st, BRAID_UNKNOWN, braid_status_message(st));
    assert_error(st, BRAID_UNKNOWN, "outer: inner");
    braid_status_set(st, BRAID_UNKNOWN, NULL);
    assert_string_equal(braid_status_message(st), "");
}

static void prefix_and_suffix_keep_the_code_and_leave_ok_alone(void **state)
{
    (void)state;
    BD_STATUS(st);
    assert_int_equal(bd_status_prefix(st, "before"), BRAID_OK);
    assert_string_equal(braid_status_message(st), "");
    bd_fail(st, BRAID_OUT_OF_RANGE, "index 7");
    assert_int_equal(bd_status_prefix(st, "%s: ", "Gather"), BRAID_OUT_OF_RANGE);
    assert_int_equal(bd_status_suffix(st, " of %d", 5), BRAID_OUT_OF_RANGE);
    assert_string_equal(braid_status_message(st), "Gather: index 7 of 5");
}

static void copy_duplicates_and_move_empties(void **state)
{
    (void)state;
    BD_STATUS(a);
    BD_STATUS(b);
    bd_fail(a, BRAID_UNAVAILABLE, "gone");
    a->derived = true;
    assert_int_equal(bd_status_copy(b, a), BRAID_UNAVAILABLE);
    assert_true(b->derived);
    assert_ptr_not_equal(a->message, b->message);
    assert_int_equal(bd_status_copy(b, b), BRAID_UNAVAILABLE);
    braid_status_clear(b);
    bd_status_move(b, a);
    assert_int_equal(braid_status_code(a), BRAID_OK);
    assert_error(b, BRAID_UNAVAILABLE, "gone");
}

static void the_root_cause_wins_over_its_consequences(void **state)
{
    (void)state;
    BD_STATUS(st);
    BD_STATUS(ok);
    BD_STATUS(consequence);
    BD_STATUS(cause);
    BD_STATUS(second);
    bd_fail(consequence, BRAID_CANCELLED, "cancelled");
    consequence->derived = true;
    bd_fail(cause, BRAID_INVALID_ARGUMENT, "cause");
    bd_fail(second, BRAID_INTERNAL, "second");
    bd_status_update(st, ok);
    assert_int_equal(st->code, BRAID_OK);
    bd_status_update(st, consequence);
    assert_int_equal(st->code, BRAID_CANCELLED);
    bd_status_update(st, cause);
    bd_status_update(st, second);
    bd_status_update(st, consequence);
    bd_status_update(st, ok);
    assert_error(st, BRAID_INVALID_ARGUMENT, "cause");
}

static void codes_have_their_customary_names(void **state)
{
    (void)state;
    assert_string_equal(braid_code_name(BRAID_OK), "OK");
    assert_string_equal(braid_code_name(BRAID_INVALID_ARGUMENT), "InvalidArgument");
    assert_string_equal(braid_code_name(BRAID_UNAUTHENTICATED), "Unauthenticated");
    assert_string_equal(braid_code_name((braid_code)17), "Unknown");
    assert_string_equal(braid_code_name((braid_code)-1), "Unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_status_is_ok),
        cmocka_unit_test(a_failure_has_code_and_message),
        cmocka_unit_test(a_message_may_be_made_from_the_old_one),
        cmocka_unit_test(prefix_and_suffix_keep_the_code_and_leave_ok_alone),
        cmocka_unit_test(copy_duplicates_and_move_empties),
        cmocka_unit_test(the_root_cause_wins_over_its_consequences),
        cmocka_unit_test(codes_have_their_customary_names),
    };
    return BD_RUN_TESTS(tests);
}
