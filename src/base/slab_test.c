// Tests of slab memory: reused pieces are filled with zeros, and free lists have a limit.
#include "base/slab.h"

#include "base/alloc.h"
#include "base/check.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZES
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZES
#endif
#endif
#ifdef SANITIZES
#include <sanitizer/asan_interface.h>
#define RECYCLES false
#else
#define RECYCLES true
#endif

static bool is_zero(const char *p, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (p[i]) return false;
    return true;
}

static void freed_memory_is_reused_filled_with_zeros(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 64, 65, 1000, 4096, BD_SLAB_SIZE_MAX, BD_SLAB_SIZE_MAX + 1};
    for (size_t i = 0; i < BD_COUNTOF(sizes); i++) {
        char *first = bd_slab_alloc(sizes[i]);
        assert_int_equal((uintptr_t)first % 16, 0);
        assert_true(is_zero(first, sizes[i]));
        memset(first, 1, sizes[i]);
        bd_slab_free(first);
        const uint64_t before = bd_alloc_count();
        char *again = bd_slab_alloc(sizes[i]);
        assert_int_equal(bd_alloc_count() - before, RECYCLES && sizes[i] <= BD_SLAB_SIZE_MAX ? 0 : 1);
        assert_true(is_zero(again, sizes[i]));
        bd_slab_free(again);
    }
    bd_slab_free(NULL);
}

static void a_burst_is_not_kept(void **state)
{
    (void)state;
    static void *all[2 * BD_SLAB_CACHE_BYTES_MAX / 1024];
    for (size_t i = 0; i < BD_COUNTOF(all); i++)
        all[i] = bd_slab_alloc_raw(1024);
    for (size_t i = 0; i < BD_COUNTOF(all); i++)
        bd_slab_free(all[i]);
    const uint64_t before = bd_alloc_count();
    for (size_t i = 0; i < BD_COUNTOF(all); i++)
        all[i] = bd_slab_alloc_raw(1024);
    const size_t of_thread = BD_SLAB_THREAD_BYTES_MAX / 1024;
    assert_in_range(bd_alloc_count() - before, BD_COUNTOF(all) / 2 - of_thread, BD_COUNTOF(all));
    for (size_t i = 0; i < BD_COUNTOF(all); i++)
        bd_slab_free(all[i]);
}

static void *alloc_and_free(void *arg)
{
    bd_slab_free(bd_slab_alloc_raw(*(size_t *)arg));
    return NULL;
}

static void a_thread_gives_back_what_it_kept(void **state)
{
    (void)state;
    size_t size = 300; // of a list that no other test uses
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, alloc_and_free, &size), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    const uint64_t before = bd_alloc_count();
    bd_slab_free(bd_slab_alloc_raw(size));
    assert_int_equal(bd_alloc_count() - before, RECYCLES ? 0 : 1);
}

// AddressSanitizer must detect writes past the end of a piece, also in a size class of larger pieces.
static void a_piece_ends_where_it_was_asked_to(void **state)
{
    (void)state;
#ifdef SANITIZES
    static const size_t sizes[] = {1, 65, 1000, BD_SLAB_SIZE_MAX - 1};
    for (size_t i = 0; i < BD_COUNTOF(sizes); i++) {
        char *p = bd_slab_alloc(sizes[i]);
        assert_true(__asan_address_is_poisoned(p + sizes[i]));
        bd_slab_free(p);
        assert_true(__asan_address_is_poisoned(p));
    }
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(freed_memory_is_reused_filled_with_zeros),
        cmocka_unit_test(a_burst_is_not_kept),
        cmocka_unit_test(a_thread_gives_back_what_it_kept),
        cmocka_unit_test(a_piece_ends_where_it_was_asked_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
