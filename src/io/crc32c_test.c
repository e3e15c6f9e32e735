// Checksums: published values, pieces against the whole, mask and unmask.
#include "io/crc32c.h"

#include "base/alloc.h"
#include "base/random.h"
#include "base/testing/test.h"

// RFC 3720, B.4, and the check value of the CRC catalogue.
static void checksums_match_published_values(void **state)
{
    (void)state;
    uint8_t bytes[32];
    assert_int_equal(bd_crc32c("123456789", 9), 0xe3069283);
    assert_int_equal(bd_crc32c("", 0), 0);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(bd_crc32c(bytes, sizeof bytes), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(bd_crc32c(bytes, sizeof bytes), 0x62a8ab43);
    for (int i = 0; i < 32; i++)
        bytes[i] = (uint8_t)i;
    assert_int_equal(bd_crc32c(bytes, sizeof bytes), 0x46dd794e);
    for (int i = 0; i < 32; i++)
        bytes[i] = (uint8_t)(31 - i);
    assert_int_equal(bd_crc32c(bytes, sizeof bytes), 0x113fdb5c);
}

// One bit at a time, by the polynomial's definition.
static uint32_t bitwise(const uint8_t *data, size_t len)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < len; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    return ~crc;
}

static void pieces_extend_a_checksum(void **state)
{
    (void)state;
    enum {
        LEN = 5000
    };
    uint8_t *data = bd_malloc(LEN);
    bd_rng rng = bd_rng_init(1);
    for (size_t i = 0; i < LEN; i++)
        data[i] = (uint8_t)bd_rng_next(&rng);
    for (int round = 0; round < 200; round++) {
        size_t start = bd_rng_below(&rng, 64), len = bd_rng_below(&rng, LEN - start + 1);
        size_t cut = bd_rng_below(&rng, len + 1);
        uint32_t whole = bd_crc32c(data + start, len);
        assert_int_equal(whole, bitwise(data + start, len));
        uint32_t first = bd_crc32c(data + start, cut);
        assert_int_equal(bd_crc32c_extend(first, data + start + cut, len - cut), whole);
    }
    bd_free(data);
}

static void checksums_of_neighbours_are_joined(void **state)
{
    (void)state;
    enum {
        LEN = 3000
    };
    uint8_t *data = bd_malloc(LEN);
    bd_rng rng = bd_rng_init(3);
    for (size_t i = 0; i < LEN; i++)
        data[i] = (uint8_t)bd_rng_next(&rng);
    for (int round = 0; round < 200; round++) {
        const size_t len = bd_rng_below(&rng, LEN + 1), cut = bd_rng_below(&rng, len + 1);
        const uint32_t first = bd_crc32c(data, cut), second = bd_crc32c(data + cut, len - cut);
        assert_int_equal(bd_crc32c_join(first, second, len - cut), bd_crc32c(data, len));
    }
    bd_free(data);
}

static void unmasking_reverses_the_mask(void **state)
{
    (void)state;
    assert_int_equal(bd_crc32c_mask(0), 0xa282ead8);
    bd_rng rng = bd_rng_init(2);
    for (int i = 0; i < 1000; i++) {
        uint32_t crc = (uint32_t)bd_rng_next(&rng);
        assert_int_not_equal(bd_crc32c_mask(crc), crc);
        assert_int_equal(bd_crc32c_unmask(bd_crc32c_mask(crc)), crc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_match_published_values),
        cmocka_unit_test(pieces_extend_a_checksum),
        cmocka_unit_test(checksums_of_neighbours_are_joined),
        cmocka_unit_test(unmasking_reverses_the_mask),
    };
    return BD_RUN_TESTS(tests);
}
