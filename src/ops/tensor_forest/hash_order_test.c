// Tests of the order of an unordered_set. Orders are those that TensorFlow 1.15 gives.
#include "ops/tensor_forest/hash_order.h"

#include "base/strbuf.h"
#include "base/testing/test.h"

static void expect_order(const int32_t *numbers, size_t count, const char *want)
{
    bd_hash_order h = bd_hash_order_new();
    bd_strbuf got = {0};
    for (size_t i = 0; i < count; i++)
        bd_hash_order_add(&h, numbers[i]);
    for (int32_t i = h.first; i >= 0; i = h.entries.items[i].next)
        bd_strbuf_appendf(&got, "%d ", h.entries.items[i].number);
    char *text = bd_strbuf_take(&got);
    assert_string_equal(text, want);
    bd_free(text);
    bd_hash_order_free(&h);
}

static void numbers_come_in_the_order_of_their_buckets(void **state)
{
    (void)state;
    static const int32_t ascending[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    static const int32_t mixed[] = {18, 1, 19, 8, 10};
    static const int32_t more[] = {35, 34, 12, 27, 11, 2, 33, 6, 22, 21, 4, 10};
    expect_order(ascending, 1, "0 ");
    expect_order(ascending, 2, "1 0 ");
    expect_order(ascending, 3, "2 0 1 ");
    expect_order(ascending, 7, "6 1 0 2 3 4 5 ");
    expect_order(ascending, 16, "15 14 13 12 11 10 9 8 7 6 1 0 2 3 4 5 ");
    expect_order(mixed, BD_COUNTOF(mixed), "10 19 18 8 1 ");
    expect_order(more, BD_COUNTOF(more), "4 21 22 6 33 34 10 27 35 12 11 2 ");
}

static void a_number_is_added_once(void **state)
{
    (void)state;
    bd_hash_order h = bd_hash_order_new();
    assert_int_equal(h.first, -1);
    assert_int_equal(bd_hash_order_add(&h, 7), 0);
    assert_int_equal(bd_hash_order_add(&h, 2147483647), 1);
    for (int32_t i = 0; i < 100000; i++)
        bd_hash_order_add(&h, i);
    assert_int_equal(bd_hash_order_add(&h, 7), 0);
    assert_int_equal(bd_hash_order_add(&h, 2147483647), 1);
    assert_int_equal(h.entries.len, 100001);
    bd_hash_order_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_in_the_order_of_their_buckets),
        cmocka_unit_test(a_number_is_added_once),
    };
    return BD_RUN_TESTS(tests);
}
