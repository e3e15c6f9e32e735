// The buffer pool: freed memory is used again, by any thread, and the system is asked only when needed.
// labels: concurrent
#include "tensor/buffer.h"

#include "base/account.h"
#include "base/alloc.h"
#include "base/random.h"
#include "base/thread.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

static uint64_t system_allocs(void)
{
    return bd_buffer_pool_get_stats().system_allocs;
}

static int start_empty(void **state)
{
    (void)state;
    bd_buffer_pool_trim(0);
    return 0;
}

static void buffers_have_any_size(void **state)
{
    (void)state;
    for (size_t size = 0; size < 300000; size += 1 + size / 61) {
        bd_buffer *b = bd_buffer_new(size);
        assert_non_null(b);
        assert_int_equal(b->size, size);
        assert_int_equal((uintptr_t)b->data % 64, 0);
        assert_false(b->is_variable);
        assert_true(bd_buffer_is_unique(b));
        memset(b->data, 0x5a, size);
        bd_buffer_unref(b);
    }
    assert_null(bd_buffer_new(SIZE_MAX));
    assert_null(bd_buffer_new((size_t)1 << 50));
}

// No more than a quarter (or a cache line) is lost to rounding.
static void buffers_waste_little_memory(void **state)
{
    (void)state;
    size_t before = bd_buffer_pool_get_stats().bytes_in_use;
    for (size_t size = 1; size < ((size_t)1 << 28); size += 1 + size / 7) {
        bd_buffer *b = bd_buffer_new(size);
        assert_non_null(b);
        size_t taken = bd_buffer_pool_get_stats().bytes_in_use - before;
        assert_true(taken >= size && taken <= size + size / 4 + 64);
        bd_buffer_unref(b);
        bd_buffer_pool_trim(0);
    }
}

static void the_last_reference_frees_a_buffer(void **state)
{
    (void)state;
    bd_buffer *b = bd_buffer_new(100);
    assert_ptr_equal(bd_buffer_ref(b), b);
    assert_false(bd_buffer_is_unique(b));
    bd_buffer_unref(b);
    assert_true(bd_buffer_is_unique(b));
    bd_buffer_unref(b);
    assert_null(bd_buffer_ref(NULL));
    bd_buffer_unref(NULL);
}

static void count_call(void *arg)
{
    ++*(int *)arg;
}

static void wrap(void **state)
{
    (void)state;
    int calls = 0;
    char memory[10];
    bd_buffer *b = bd_buffer_wrap(memory, sizeof memory, count_call, &calls);
    assert_ptr_equal(b->data, memory);
    assert_int_equal(b->size, 10);
    bd_buffer_ref(b);
    bd_buffer_unref(b);
    assert_int_equal(calls, 0);
    bd_buffer_unref(b);
    assert_int_equal(calls, 1);
    bd_buffer_unref(bd_buffer_wrap(memory, sizeof memory, NULL, NULL));
}

// A step: buffers of many sizes that live in part at once.
static void step(uint64_t seed)
{
    enum {
        LIVE = 24
    };
    bd_buffer *live[LIVE] = {0};
    bd_rng rng = bd_rng_init(seed);
    for (int i = 0; i < 400; i++) {
        size_t slot = bd_rng_below(&rng, LIVE);
        bd_buffer_unref(live[slot]);
        live[slot] = bd_buffer_new((size_t)1 << bd_rng_below(&rng, 21));
        assert_non_null(live[slot]);
    }
    for (int i = 0; i < LIVE; i++)
        bd_buffer_unref(live[i]);
}

static void the_steady_state_allocates_no_memory(void **state)
{
    (void)state;
    step(7);
    uint64_t before = system_allocs(), allocs = bd_alloc_count();
    for (int i = 0; i < 50; i++)
        step(7);
    assert_int_equal(system_allocs(), before);
    assert_int_equal(bd_alloc_count(), allocs);
}

static void huge_buffers_are_kept(void **state)
{
    (void)state;
    bd_buffer_unref(bd_buffer_new((size_t)100 << 20));
    uint64_t before = system_allocs();
    for (int i = 0; i < 10; i++)
        bd_buffer_unref(bd_buffer_new(((size_t)100 << 20) - (size_t)i));
    assert_int_equal(system_allocs(), before);
}

static size_t bytes_free(void)
{
    return bd_buffer_pool_get_stats().bytes_free;
}

// A block counts as unused when it was free between two calls without a break.
static void unused_large_blocks_are_given_back(void **state)
{
    (void)state;
    const size_t size = 4 << 20;
    bd_buffer_unref(bd_buffer_new(size));
    bd_buffer_unref(bd_buffer_new(4096));
    bd_buffer_pool_give_unused(); // it has become free since the call before
    assert_int_equal(bytes_free(), size + 4096);
    bd_buffer_unref(bd_buffer_new(size));
    bd_buffer_pool_give_unused(); // it was taken in between
    assert_int_equal(bytes_free(), size + 4096);

    bd_buffer *two[] = {bd_buffer_new(size), bd_buffer_new(size)};
    bd_buffer_unref(two[0]);
    bd_buffer_unref(two[1]);
    bd_buffer_pool_give_unused();
    bd_buffer *one = bd_buffer_new(size);
    bd_buffer_pool_give_unused(); // of two, one was not needed
    assert_int_equal(bytes_free(), 4096);
    bd_buffer_unref(one);
    bd_buffer_pool_give_unused();
    assert_int_equal(bytes_free(), size + 4096);
    bd_buffer_pool_give_unused();
    assert_int_equal(bytes_free(), 4096); // small blocks stay
}

static void trim_gives_free_memory_back(void **state)
{
    (void)state;
    bd_buffer_pool_stats start = bd_buffer_pool_get_stats();
    assert_int_equal(start.bytes_free, 0);
    bd_buffer *small = bd_buffer_new(1024), *large = bd_buffer_new(1 << 20);
    bd_buffer_pool_stats stats = bd_buffer_pool_get_stats();
    assert_int_equal(stats.bytes_in_use - start.bytes_in_use, 1024 + (1 << 20));
    assert_int_equal(stats.system_allocs - start.system_allocs, 2);
    bd_buffer_unref(small);
    bd_buffer_unref(large);
    stats = bd_buffer_pool_get_stats();
    assert_int_equal(stats.bytes_in_use, start.bytes_in_use);
    assert_int_equal(stats.bytes_free, 1024 + (1 << 20));
    bd_buffer_pool_trim(4096); // frees the large block; the small one may stay
    assert_int_equal(bd_buffer_pool_get_stats().bytes_free, 1024);
    bd_buffer_pool_trim(0);
    assert_int_equal(bd_buffer_pool_get_stats().bytes_free, 0);
}

static void the_pool_has_a_limit(void **state)
{
    (void)state;
    size_t in_use = bd_buffer_pool_get_stats().bytes_in_use;
    bd_buffer_pool_set_limit(in_use + (1 << 20));
    bd_buffer *b = bd_buffer_new(1 << 20);
    assert_non_null(b);
    assert_null(bd_buffer_new(1));
    bd_buffer_unref(b);
    b = bd_buffer_new(512 << 10); // takes the place of the free one
    assert_non_null(b);
    bd_buffer_unref(b);
    bd_buffer_pool_stats stats = bd_buffer_pool_get_stats();
    assert_int_equal(stats.bytes_limit, in_use + (1 << 20));
    assert_in_range(stats.bytes_most, stats.bytes_limit, SIZE_MAX); // with what earlier tests had
    bd_buffer_pool_set_limit(SIZE_MAX);
}

static void a_buffer_counts_against_the_account_of_its_thread(void **state)
{
    (void)state;
    bd_buffer *before = bd_buffer_new(600); // counts against none
    bd_account *a = bd_account_new("alice", 1000, 0);
    const bd_account_turn turn = bd_account_enter(a);
    bd_buffer *b = bd_buffer_new(600);
    assert_non_null(b);
    assert_null(bd_buffer_new(600));
    assert_false(bd_buffer_charge(before));
    bd_buffer_unref(b);
    assert_true(bd_buffer_charge(before));
    assert_true(bd_buffer_charge(before)); // counts once
    assert_null(bd_buffer_new(600));
    bd_account_leave(turn);
    bd_account_unref(a);
    b = bd_buffer_new(600);
    bd_buffer_unref(b);
    bd_buffer_unref(before); // gives back to an account that it alone holds
}

static void a_failed_allocation_is_no_buffer(void **state)
{
    (void)state;
    bd_alloc_fail_after(0);
    assert_null(bd_buffer_new(5000));
    bd_alloc_fail_after(-1);
    bd_buffer *b = bd_buffer_new(5000);
    assert_non_null(b);
    bd_buffer_unref(b);
}

#if defined(__SANITIZE_ADDRESS__)
static void memory_outside_of_a_buffer_is_poisoned(void **state)
{
    (void)state;
    bd_buffer *b = bd_buffer_new(100);
    char *data = b->data;
    assert_false(__asan_address_is_poisoned(data + 99));
    assert_true(__asan_address_is_poisoned(data + 100));
    bd_buffer_unref(b);
    assert_true(__asan_address_is_poisoned(data));
    assert_true(__asan_address_is_poisoned(b));
    b = bd_buffer_new(128);
    assert_ptr_equal(b->data, data);
    assert_false(__asan_address_is_poisoned(data + 127));
    bd_buffer_unref(b);
}
#endif

// ---- Many threads ----

// Every thread takes buffers, marks them and passes them to the next thread, which checks the mark and frees
// them.
enum {
    THREADS = 8,
    ROUNDS = 4000,
    BOX = 16
};

static struct box {
    bd_mutex mu;
    bd_buffer *items[BOX];
    int count;
} boxes[THREADS];

static void post(struct box *box, bd_buffer *b)
{
    bd_mutex_lock(&box->mu);
    bool full = box->count == BOX;
    if (!full) box->items[box->count++] = b;
    bd_mutex_unlock(&box->mu);
    if (full) bd_buffer_unref(b);
}

static bd_buffer *collect(struct box *box)
{
    bd_mutex_lock(&box->mu);
    bd_buffer *b = box->count ? box->items[--box->count] : NULL;
    bd_mutex_unlock(&box->mu);
    return b;
}

static atomic_int damaged;

static void check_mark(const bd_buffer *b)
{
    const uint8_t *data = b->data;
    for (size_t i = 1; i < b->size; i++)
        if (data[i] != data[0]) damaged++;
}

static void run_thread(void *arg)
{
    size_t self = (size_t)(uintptr_t)arg;
    bd_rng rng = bd_rng_init(self);
    for (int i = 0; i < ROUNDS; i++) {
        bd_buffer *b = bd_buffer_new(bd_rng_below(&rng, 3000));
        if (!b) continue;
        memset(b->data, (int)(self + 1), b->size);
        post(&boxes[(self + 1) % THREADS], b);
        b = collect(&boxes[self]);
        if (!b) continue;
        check_mark(b);
        bd_buffer_unref(b);
        if (i % 64 != 0) continue;
        bd_buffer_unref(bd_buffer_new((size_t)2 << 20));
        bd_buffer_pool_give_unused();
    }
}

static void run_threads(void)
{
    BD_STATUS(st);
    bd_thread threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(bd_thread_start(&threads[i], "buffers", run_thread, (void *)(uintptr_t)i, st),
                         BRAID_OK);
    for (size_t i = 0; i < THREADS; i++)
        bd_thread_join(&threads[i]);
    for (size_t i = 0; i < THREADS; i++)
        for (bd_buffer *b; (b = collect(&boxes[i]));)
            bd_buffer_unref(b);
}

static void many_threads_share_the_pool(void **state)
{
    (void)state;
    for (size_t i = 0; i < THREADS; i++)
        bd_mutex_init(&boxes[i].mu);
    bd_buffer_pool_stats before = bd_buffer_pool_get_stats();
    run_threads();
    assert_int_equal(damaged, 0);
    bd_buffer_pool_stats after = bd_buffer_pool_get_stats();
    assert_int_equal(after.bytes_in_use, before.bytes_in_use);
    // For any number of rounds: the memory from the system is bounded by the live blocks of threads, boxes
    // and shards.
    assert_true(after.system_allocs - before.system_allocs < (uint64_t)THREADS * ROUNDS / 4);
    bd_buffer_pool_trim(0);
    assert_int_equal(bd_buffer_pool_get_stats().bytes_free, 0);
    for (size_t i = 0; i < THREADS; i++)
        bd_mutex_fini(&boxes[i].mu);
}

// Memory that an ended thread has freed is available to other threads.
static void give_one_back(void *arg)
{
    bd_buffer_unref(arg);
}

static void ended_threads_leave_no_memory(void **state)
{
    (void)state;
    uint64_t before = system_allocs();
    for (int i = 0; i < 100; i++) {
        BD_STATUS(st);
        bd_thread thread;
        bd_buffer *b = bd_buffer_new(700);
        assert_int_equal(bd_thread_start(&thread, "short", give_one_back, b, st), BRAID_OK);
        bd_thread_join(&thread);
    }
    assert_int_equal(system_allocs() - before, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(buffers_have_any_size, start_empty),
        cmocka_unit_test_setup(buffers_waste_little_memory, start_empty),
        cmocka_unit_test_setup(the_last_reference_frees_a_buffer, start_empty),
        cmocka_unit_test_setup(wrap, start_empty),
        cmocka_unit_test_setup(the_steady_state_allocates_no_memory, start_empty),
        cmocka_unit_test_setup(huge_buffers_are_kept, start_empty),
        cmocka_unit_test_setup(unused_large_blocks_are_given_back, start_empty),
        cmocka_unit_test_setup(trim_gives_free_memory_back, start_empty),
        cmocka_unit_test_setup(the_pool_has_a_limit, start_empty),
        cmocka_unit_test(a_buffer_counts_against_the_account_of_its_thread),
        cmocka_unit_test_setup(a_failed_allocation_is_no_buffer, start_empty),
#if defined(__SANITIZE_ADDRESS__)
        cmocka_unit_test_setup(memory_outside_of_a_buffer_is_poisoned, start_empty),
#endif
        cmocka_unit_test_setup(many_threads_share_the_pool, start_empty),
        cmocka_unit_test_setup(ended_threads_leave_no_memory, start_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
