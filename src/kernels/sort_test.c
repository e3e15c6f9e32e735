// Sorting in one run and in several, which are merged.
#include "kernels/sort.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "base/testing/test.h"
#include <stdlib.h>
#include <string.h>

static atomic_bool is_interrupted;
static int64_t questions; // until it is interrupted; negative: it is not

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int compare_counting(const void *a, const void *b, void *arg)
{
    assert_ptr_equal(arg, &questions);
    if (--questions == 0) is_interrupted = true;
    return compare(a, b);
}

static int64_t *random_numbers(int64_t count, int64_t below)
{
    int64_t *numbers = bd_calloc((size_t)count + 1, sizeof *numbers);
    bd_rng rng = bd_rng_init((uint64_t)count);
    for (int64_t i = 0; i < count; i++)
        numbers[i] = (int64_t)(bd_rng_double(&rng) * (double)below);
    return numbers;
}

static void items_are_in_order(void **state)
{
    (void)state;
    static const int64_t counts[] = {0, 1, 2, 1000, BD_INTERRUPT_BLOCK, BD_INTERRUPT_BLOCK + 1, 500000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const size_t count = (size_t)counts[i];
        int64_t *got = random_numbers(counts[i], 100000), *want = random_numbers(counts[i], 100000);
        questions = -1;
        bd_sort(got, counts[i], sizeof *got, compare_counting, &questions);
        qsort(want, count, sizeof *want, compare);
        assert_memory_equal(got, want, count * sizeof *want);
        bd_free(got);
        bd_free(want);
    }
}

static void an_interrupted_sort_leaves_items_of_those_given(void **state)
{
    (void)state;
    enum {
        COUNT = 500000
    };
    const atomic_bool *before = bd_interrupt_set(&is_interrupted);
    for (int64_t after = 1; after < 8000000; after *= 7) {
        int64_t *got = random_numbers(COUNT, COUNT), *given = random_numbers(COUNT, COUNT);
        is_interrupted = false;
        questions = after;
        bd_sort(got, COUNT, sizeof *got, compare_counting, &questions);
        qsort(given, COUNT, sizeof *given, compare);
        for (int64_t i = 0; i < COUNT; i++)
            assert_non_null(bsearch(&got[i], given, COUNT, sizeof *given, compare));
        bd_free(got);
        bd_free(given);
    }
    bd_interrupt_set(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_are_in_order),
        cmocka_unit_test(an_interrupted_sort_leaves_items_of_those_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
