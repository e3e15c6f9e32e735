// Philox against the published known answers, its counter, and the small generator.
#include "base/random.h"
#include "base/testing/test.h"
#include <sys/wait.h>
#include <unistd.h>

// Known-answer vectors of Random123 (kat_vectors, philox4x32 10).
static void philox_gives_the_known_answers(void **state)
{
    (void)state;
    static const struct {
        bd_philox p;
        uint32_t out[4];
    } vectors[] = {
        {{{0, 0}, {0, 0, 0, 0}}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{{0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{{0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < BD_COUNTOF(vectors); i++) {
        bd_philox p = vectors[i].p;
        uint32_t out[4];
        bd_philox_next4(&p, out);
        assert_memory_equal(out, vectors[i].out, sizeof out);
    }
}

static void seeds_go_to_key_and_upper_counter(void **state)
{
    (void)state;
    bd_philox p = bd_philox_init(0x1111222233334444, 0x5555666677778888);
    assert_int_equal(p.key[0], 0x33334444);
    assert_int_equal(p.key[1], 0x11112222);
    assert_int_equal(p.counter[0], 0);
    assert_int_equal(p.counter[1], 0);
    assert_int_equal(p.counter[2], 0x77778888);
    assert_int_equal(p.counter[3], 0x55556666);
}

static void skipping_equals_drawing(void **state)
{
    (void)state;
    bd_philox a = bd_philox_init(87654321, 123456789), b = a;
    uint32_t drawn[4], skipped[4];
    for (int i = 0; i < 1000; i++)
        bd_philox_next4(&a, drawn);
    bd_philox_skip(&b, 999);
    bd_philox_next4(&b, skipped);
    assert_memory_equal(drawn, skipped, sizeof drawn);
    assert_memory_equal(&a, &b, sizeof a);
}

static void the_counter_carries_through_all_words(void **state)
{
    (void)state;
    bd_philox p = {.counter = {0xffffffff, 0xffffffff, 0xffffffff, 0}};
    bd_philox_skip(&p, 2);
    assert_memory_equal(p.counter, ((uint32_t[]){1, 0, 0, 1}), sizeof p.counter);
    bd_philox_skip(&p, UINT64_MAX);
    assert_memory_equal(p.counter, ((uint32_t[]){0, 0, 1, 1}), sizeof p.counter);
}

static void entropy_differs(void **state)
{
    (void)state;
    assert_true(bd_random_u64() != bd_random_u64());
    uint8_t bytes[1000] = {0};
    bd_random_bytes(bytes, sizeof bytes);
    int sum = 0;
    for (size_t i = 0; i < sizeof bytes; i++)
        sum += bytes[i];
    assert_in_range(sum, 100000, 155000); // 127500 expected, deviation 2337
}

static void a_child_process_has_entropy_of_its_own(void **state)
{
    (void)state;
    int ends[2];
    bd_random_u64(); // fills the store that the child inherits
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        const uint64_t drawn = bd_random_u64();
        _exit(write(ends[1], &drawn, sizeof drawn) == sizeof drawn ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    uint64_t of_child;
    assert_int_equal(read(ends[0], &of_child, sizeof of_child), sizeof of_child);
    assert_true(of_child != bd_random_u64());
    close(ends[0]);
    close(ends[1]);
}

// The first outputs of xoshiro256** from the state 1, 2, 3, 4 (worked out from its definition by the
// rand_xoshiro crate).
static void the_small_generator_is_xoshiro(void **state)
{
    (void)state;
    bd_rng r = {.s = {1, 2, 3, 4}};
    static const uint64_t expected[] = {11520, 0, 1509978240, 1215971899390074240};
    for (size_t i = 0; i < BD_COUNTOF(expected); i++)
        assert_true(bd_rng_next(&r) == expected[i]);
}

static void ranges_hold(void **state)
{
    (void)state;
    bd_rng a = bd_rng_init(5), b = bd_rng_init(5), c = bd_rng_init(6);
    int counts[7] = {0};
    for (int i = 0; i < 7000; i++) {
        uint64_t value = bd_rng_below(&a, 7);
        assert_int_equal(value, bd_rng_below(&b, 7));
        counts[value]++;
        double d = bd_rng_double(&c);
        assert_true(d >= 0 && d < 1);
    }
    for (int i = 0; i < 7; i++)
        assert_in_range(counts[i], 800, 1200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_known_answers),
        cmocka_unit_test(seeds_go_to_key_and_upper_counter),
        cmocka_unit_test(skipping_equals_drawing),
        cmocka_unit_test(the_counter_carries_through_all_words),
        cmocka_unit_test(entropy_differs),
        cmocka_unit_test(a_child_process_has_entropy_of_its_own),
        cmocka_unit_test(the_small_generator_is_xoshiro),
        cmocka_unit_test(ranges_hold),
    };
    return BD_RUN_TESTS(tests);
}
