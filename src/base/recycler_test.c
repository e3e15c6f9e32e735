// Recyclers: objects come back full of zeros and without the system, up to a limit.
#include "base/recycler.h"

#include "base/alloc.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct thing {
    char bytes[100];
} thing;

static bool is_zero(const thing *t)
{
    static const thing zeros;
    return memcmp(t, &zeros, sizeof zeros) == 0;
}

static void what_was_given_back_is_taken_again_full_of_zeros(void **state)
{
    (void)state;
    static bd_recycler things = BD_RECYCLER(thing);
    thing *first = bd_recycler_take(&things);
    assert_true(is_zero(first));
    memset(first, 1, sizeof *first);
    bd_recycler_give(&things, first);
    bd_recycler_give(&things, NULL);
#if !defined(__SANITIZE_ADDRESS__)
    const uint64_t before = bd_alloc_count();
    thing *again = bd_recycler_take(&things);
    assert_int_equal(bd_alloc_count(), before);
    assert_ptr_equal(again, first);
#else
    thing *again = bd_recycler_take(&things);
#endif
    assert_true(is_zero(again));
    bd_recycler_give(&things, again);
}

static void a_burst_is_not_kept(void **state)
{
    (void)state;
    static bd_recycler things = BD_RECYCLER(char);
    static void *all[2 * BD_RECYCLER_KEEPS];
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < BD_COUNTOF(all); i++)
            all[i] = bd_recycler_take(&things);
        for (size_t i = 0; i < BD_COUNTOF(all); i++)
            bd_recycler_give(&things, all[i]);
        assert_in_range(things.count, 0, BD_RECYCLER_KEEPS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_given_back_is_taken_again_full_of_zeros),
        cmocka_unit_test(a_burst_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
