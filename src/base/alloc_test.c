// Allocation: sizes and zeroing, counting, and failing on demand.
#include "base/alloc.h"
#include "base/testing/test.h"

static void copies_are_equal_and_terminated(void **state)
{
    (void)state;
    char *a = bd_strdup("hello"), *b = bd_strndup("hello", 3), *c = bd_strndup("hi", 10);
    char *d = bd_asprintf("%d-%s", 7, "x"), *e = bd_memdup("ab", 3);
    assert_string_equal(a, "hello");
    assert_string_equal(b, "hel");
    assert_string_equal(c, "hi");
    assert_string_equal(d, "7-x");
    assert_string_equal(e, "ab");
    bd_free(a);
    bd_free(b);
    bd_free(c);
    bd_free(d);
    bd_free(e);
    bd_free(NULL);
}

static void an_allocation_of_zero_bytes_is_valid(void **state)
{
    (void)state;
    void *p[] = {bd_malloc(0),     bd_calloc(0, 8),     bd_memdup(NULL, 0),
                 bd_try_malloc(0), bd_try_calloc(4, 0), bd_try_aligned(0)};
    for (size_t i = 0; i < BD_COUNTOF(p); i++) {
        assert_non_null(p[i]);
        bd_free(p[i]);
    }
}

static void every_allocation_is_counted(void **state)
{
    (void)state;
    uint64_t before = bd_alloc_count();
    char *p = bd_malloc(10);
    p = bd_realloc(p, 20);
    bd_free(p);
    bd_free(bd_try_aligned(10));
    assert_int_equal(bd_alloc_count() - before, 3);
}

static void aligned_memory_is_aligned(void **state)
{
    (void)state;
    for (size_t size = 1; size < 300; size += 37) {
        void *p = bd_try_aligned(size);
        assert_int_equal((uintptr_t)p % BD_ALIGNMENT, 0);
        memset(p, 1, size);
        bd_free(p);
    }
}

static void impossible_sizes_give_null(void **state)
{
    (void)state;
    volatile size_t huge = SIZE_MAX; // so that the compiler does not warn
    assert_null(bd_try_malloc(huge - 100));
    assert_null(bd_try_calloc(huge / 2, 3));
    assert_null(bd_try_aligned(huge));
    assert_null(bd_try_aligned(huge - BD_ALIGNMENT));
}

static void the_try_forms_fail_on_demand(void **state)
{
    (void)state;
    bd_alloc_fail_after(2);
    void *a = bd_try_malloc(1), *b = bd_try_calloc(1, 1);
    assert_non_null(a);
    assert_non_null(b);
    assert_null(bd_try_malloc(1));
    assert_null(bd_try_calloc(1, 1));
    assert_null(bd_try_aligned(1));
    assert_null(bd_try_realloc(a, 100));
    void *plain = bd_malloc(1); // the plain forms have no failure to report
    bd_alloc_fail_after(-1);
    void *c = bd_try_realloc(a, 100);
    assert_non_null(c);
    bd_free(b);
    bd_free(c);
    bd_free(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_equal_and_terminated),
        cmocka_unit_test(an_allocation_of_zero_bytes_is_valid),
        cmocka_unit_test(every_allocation_is_counted),
        cmocka_unit_test(aligned_memory_is_aligned),
        cmocka_unit_test(impossible_sizes_give_null),
        cmocka_unit_test(the_try_forms_fail_on_demand),
    };
    return BD_RUN_TESTS(tests);
}
