// Growable arrays.
#include "base/array.h"
#include "base/testing/test.h"

struct pair {
    int a, b;
};

static void pushed_items_stay_in_order(void **state)
{
    (void)state;
    BD_ARRAY(struct pair) pairs = {0};
    for (int i = 0; i < 1000; i++)
        bd_array_push(&pairs, (struct pair){.a = i, .b = -i});
    assert_int_equal(pairs.len, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(pairs.items[i].a + pairs.items[i].b, 0);
    assert_int_equal(pairs.items[999].a, 999);
    bd_array_free(&pairs);
    assert_null(pairs.items);
    assert_int_equal(pairs.len + pairs.cap, 0);
}

static void reserved_room_is_not_allocated_again(void **state)
{
    (void)state;
    BD_ARRAY(char *) names = {0};
    bd_array_reserve(&names, 100);
    assert_int_equal(names.len, 0);
    uint64_t before = bd_alloc_count();
    for (int i = 0; i < 100; i++)
        bd_array_push(&names, NULL);
    bd_array_reserve(&names, 50);
    assert_int_equal(bd_alloc_count(), before);
    bd_array_free(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushed_items_stay_in_order),
        cmocka_unit_test(reserved_room_is_not_allocated_again),
    };
    return BD_RUN_TESTS(tests);
}
