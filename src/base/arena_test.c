// Arena: pieces are aligned, keep their content, and are reused after a reset.
#include "base/alloc.h"
#include "base/arena.h"
#include "base/random.h"
#include "base/testing/test.h"

static void pieces_of_any_size_keep_their_content(void **state)
{
    (void)state;
    bd_arena a = {0};
    bd_rng rng = bd_rng_init(1);
    enum {
        PIECES = 500
    };
    unsigned char *pieces[PIECES];
    size_t sizes[PIECES];
    for (int i = 0; i < PIECES; i++) {
        // Mostly small, now and then larger than a chunk.
        sizes[i] = bd_rng_below(&rng, i % 50 == 0 ? 20000 : 200);
        pieces[i] = bd_arena_alloc(&a, sizes[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        memset(pieces[i], i & 255, sizes[i]);
    }
    for (int i = 0; i < PIECES; i++) {
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(pieces[i][k], i & 255);
    }
    bd_arena_fini(&a);
}

static void text_helpers_copy(void **state)
{
    (void)state;
    bd_arena a;
    bd_arena_init(&a);
    assert_string_equal(bd_arena_strdup(&a, "node"), "node");
    assert_string_equal(bd_arena_strndup(&a, "node:1", 4), "node");
    assert_string_equal(bd_arena_asprintf(&a, "%s_%d", "x", 1), "x_1");
    assert_memory_equal(bd_arena_memdup(&a, "\0a", 2), "\0a", 2);
    int *zeros = BD_ARENA_ARRAY(&a, int, 3);
    assert_int_equal(zeros[0] | zeros[1] | zeros[2], 0);
    bd_arena_fini(&a);
}

static void a_reset_arena_needs_no_new_memory(void **state)
{
    (void)state;
    bd_arena a = {0};
    uint64_t allocations = 0;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 1000; i++)
            memset(bd_arena_alloc(&a, 100), round, 100);
        assert_int_equal(a.used, 1000 * 112);
        if (round == 0) allocations = bd_alloc_count();
        bd_arena_reset(&a);
        assert_int_equal(a.used, 0);
    }
    assert_int_equal(bd_alloc_count(), allocations);
    bd_arena_fini(&a);
    bd_arena_fini(&a);
}

// Chunks are added, and freed, from an empty arena and from one with a piece.
static void a_rewound_arena_is_what_it_was(void **state)
{
    (void)state;
    for (int has_piece = 0; has_piece < 2; has_piece++) {
        bd_arena a = {0};
        const char *kept = has_piece ? bd_arena_strdup(&a, "kept") : "kept";
        const size_t used = a.used, held = a.held;
        assert_true(held >= used && (held > 0) == (has_piece == 1));
        const bd_arena_mark mark = bd_arena_get_mark(&a);
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < 1000; i++)
                memset(bd_arena_alloc(&a, 100), round, 100);
            assert_true(a.held >= 1000 * 100);
            bd_arena_rewind(&a, mark);
            assert_int_equal(a.used, used);
            assert_int_equal(a.held, held);
        }
        assert_string_equal(bd_arena_strdup(&a, "next"), "next");
        assert_string_equal(kept, "kept");
        bd_arena_fini(&a);
        assert_int_equal(a.held, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_any_size_keep_their_content),
        cmocka_unit_test(text_helpers_copy),
        cmocka_unit_test(a_reset_arena_needs_no_new_memory),
        cmocka_unit_test(a_rewound_arena_is_what_it_was),
    };
    return BD_RUN_TESTS(tests);
}
