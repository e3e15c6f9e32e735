// Memory of graphs counts in the account of its client, and in the limit of the pool.
#include "tensor/charge.h"

#include "base/account.h"
#include "base/testing/test.h"
#include "tensor/buffer.h"

static void a_charge_counts_in_the_account_of_its_thread(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_account *a = bd_account_new("alice", 1000, 0);
    bd_charge c = {0};
    const bd_account_turn turn = bd_account_enter(a);
    assert_int_equal(bd_charge_set(&c, 400, "The graph", st), BRAID_OK);
    assert_int_equal(bd_charge_set(&c, 800, "The graph", st), BRAID_OK);
    bd_charge_set(&c, 1001, "The graph", st);
    assert_error(
        st, BRAID_RESOURCE_EXHAUSTED,
        "The graph would take 1001 bytes: more than its client may have (alice has tensors and graphs "
        "of 800 bytes");
    bd_account_leave(turn);
    assert_false(bd_account_take(a, 201)); // the refused charge has changed nothing
    assert_int_equal(bd_charge_set(&c, 900, "The graph", st), BRAID_OK); // still in the account of alice
    assert_false(bd_account_take(a, 101));
    assert_int_equal(bd_charge_set(&c, 100, "The graph", st), BRAID_OK);
    assert_true(bd_account_take(a, 900));
    bd_charge_fini(&c);
    assert_true(bd_account_take(a, 100));
    bd_charge_fini(&c); // counts nothing
    bd_account_unref(a);
}

static void a_charge_counts_in_the_limit_of_the_pool(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_charge c = {0}, other = {0};
    bd_buffer_pool_trim(0);
    const size_t in_use = bd_buffer_pool_get_stats().bytes_in_use;
    bd_buffer_pool_set_limit(in_use + (1 << 20));
    bd_buffer_unref(bd_buffer_new(900 << 10)); // free, so that it can make room
    assert_int_equal(bd_charge_set(&c, 900 << 10, "The graph", st), BRAID_OK);
    assert_null(bd_buffer_new(900 << 10));
    assert_int_equal(bd_buffer_pool_get_stats().bytes_in_use, in_use); // of tensors
    bd_charge_set(&other, 900 << 10, "The graph", st);
    assert_error(st, BRAID_RESOURCE_EXHAUSTED, "(--limit memory=BYTES)");
    bd_charge_fini(&c);
    assert_int_equal(bd_charge_set(&other, 900 << 10, "The graph", st), BRAID_OK);
    bd_charge_fini(&other);
    bd_buffer_pool_set_limit(SIZE_MAX);
}

static void what_the_pool_refuses_does_not_stay_in_the_account(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_account *a = bd_account_new("alice", 1000, 0);
    bd_charge c = {0};
    bd_buffer_pool_set_limit(0);
    const bd_account_turn turn = bd_account_enter(a);
    assert_int_equal(bd_charge_set(&c, 1000, "The graph", st), BRAID_RESOURCE_EXHAUSTED);
    bd_account_leave(turn);
    bd_buffer_pool_set_limit(SIZE_MAX);
    assert_true(bd_account_take(a, 1000));
    bd_account_unref(a);
    bd_charge_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_charge_counts_in_the_account_of_its_thread),
        cmocka_unit_test(a_charge_counts_in_the_limit_of_the_pool),
        cmocka_unit_test(what_the_pool_refuses_does_not_stay_in_the_account),
    };
    return BD_RUN_TESTS(tests);
}
