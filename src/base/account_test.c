// Accounts: bytes up to a limit, and time that is used up and comes back.
#include "base/account.h"
#include "base/clock.h"
#include "base/platform.h"
#include "base/testing/test.h"

// ---- A clock of the test's own ----

static int64_t now, thread_time;

static int64_t get_now(void)
{
    return now;
}

static int64_t get_thread_time(void)
{
    return thread_time;
}

static int set_clock(void **state)
{
    (void)state;
    static bd_platform p;
    p = bd_platform_posix;
    p.now_ns = get_now;
    p.thread_time_ns = get_thread_time;
    bd_platform_set(&p);
    return 0;
}

static int reset_clock(void **state)
{
    (void)state;
    bd_platform_set(&bd_platform_posix);
    return 0;
}

#define SECOND INT64_C(1000000000)

static void be_busy(bd_account *a, int64_t ns)
{
    const bd_account_turn turn = bd_account_enter(a);
    thread_time += ns;
    bd_account_leave(turn);
}

// ---- Tests ----

static void bytes_are_taken_up_to_the_limit(void **state)
{
    (void)state;
    bd_account *a = bd_account_new("alice", 100, 0);
    assert_true(bd_account_take(a, 60));
    assert_false(bd_account_take(a, 41));
    assert_true(bd_account_take(a, 40));
    assert_false(bd_account_take(a, 1));
    assert_false(bd_account_take(a, SIZE_MAX));
    bd_account_give(a, 60);
    assert_true(bd_account_take(a, 60));
    bd_account_unref(a);
    a = bd_account_new("alice", 0, 0);
    assert_true(bd_account_take(a, (size_t)1 << 60));
    bd_account_unref(a);
}

static void an_error_says_whose_limit_it_is(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_account *a = bd_account_new("alice", 100, 0);
    bd_account_take(a, 60);
    const bd_account_turn turn = bd_account_enter(a);
    bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "of the server");
    bd_account_explain(st);
    assert_string_equal(braid_status_message(st), "of the server"); // the account has refused nothing
    braid_status_clear(st);
    assert_false(bd_account_take(a, 50));
    bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM");
    bd_account_explain(st);
    assert_error(
        st, BRAID_RESOURCE_EXHAUSTED,
        "OOM (alice has tensors and graphs of 60 bytes, and the server allows 100: start it with --limit "
        "client-memory=BYTES)");
    braid_status_clear(st);
    bd_fail(st, BRAID_INTERNAL, "other");
    bd_account_explain(st);
    assert_string_equal(braid_status_message(st), "other");
    bd_account_leave(turn);
    bd_account_unref(a);
}

static void each_client_has_one_account(void **state)
{
    (void)state;
    bd_accounts *none = bd_accounts_new(0, 0), *as = bd_accounts_new(100, 0);
    assert_null(bd_accounts_of(none, "alice")); // nothing limits it
    assert_null(bd_accounts_of(NULL, "alice"));
    assert_null(bd_accounts_of(as, ""));
    assert_null(bd_accounts_of(as, NULL));
    bd_account *alice = bd_accounts_of(as, "alice");
    assert_ptr_equal(bd_accounts_of(as, "alice"), alice);
    assert_true(bd_account_take(alice, 100));
    assert_true(bd_account_take(bd_accounts_of(as, "bob"), 100));
    bd_accounts_free(none);
    bd_accounts_free(as);
}

static void time_is_used_up_and_comes_back(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_account *a = bd_account_new("alice", 0, 2);
    be_busy(a, 119 * SECOND); // less than a minute of two processors
    assert_int_equal(bd_account_check_time(a, st), BRAID_OK);
    be_busy(a, 21 * SECOND);
    bd_account_check_time(a, st);
    assert_error(st, BRAID_RESOURCE_EXHAUSTED,
                 "alice has kept more than 2 processors busy for a minute, and has to wait for 10.0 s");
    braid_status_clear(st);
    now += 10 * SECOND;
    assert_int_equal(bd_account_check_time(a, st), BRAID_OK);
    now += 3600 * SECOND; // more than there was does not come back
    be_busy(a, 121 * SECOND);
    assert_int_equal(bd_account_check_time(a, st), BRAID_RESOURCE_EXHAUSTED);
    assert_int_equal(bd_account_check_time(NULL, st), BRAID_OK);
    bd_account_unref(a);
}

static void a_turn_within_a_turn_is_counted_once(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_account *a = bd_account_new("alice", 0, 1), *b = bd_account_new("bob", 0, 1);
    const bd_account_turn outer = bd_account_enter(a);
    be_busy(a, 59 * SECOND);
    bd_account_leave(outer);
    assert_int_equal(bd_account_check_time(a, st), BRAID_OK);
    const bd_account_turn mine = bd_account_enter(a);
    be_busy(b, 61 * SECOND);
    assert_ptr_equal(bd_account_current, a);
    be_busy(NULL, 1);
    bd_account_leave(mine);
    assert_null(bd_account_current);
    assert_int_equal(bd_account_check_time(b, st), BRAID_RESOURCE_EXHAUSTED);
    bd_account_unref(a);
    bd_account_unref(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_taken_up_to_the_limit),
        cmocka_unit_test(an_error_says_whose_limit_it_is),
        cmocka_unit_test(each_client_has_one_account),
        cmocka_unit_test_setup_teardown(time_is_used_up_and_comes_back, set_clock, reset_clock),
        cmocka_unit_test_setup_teardown(a_turn_within_a_turn_is_counted_once, set_clock, reset_clock),
    };
    return BD_RUN_TESTS(tests);
}
