// Ordered code: published encodings, order, round trips, and malformed encodings.
#include "io/ordered_code.h"

#include "base/alloc.h"
#include "base/random.h"
#include "base/testing/test.h"

static const uint8_t *start_of(const bd_strbuf *b)
{
    return (const uint8_t *)bd_strbuf_str(b);
}

static void expect_bytes(bd_strbuf *made, const char *bytes, size_t len)
{
    assert_int_equal(made->len, len);
    assert_memory_equal(bd_strbuf_str(made), bytes, len);
    bd_strbuf_clear(made);
}

// From TensorFlow's ordered_code_test.cc.
static void encodings_match_published_ones(void **state)
{
    (void)state;
    bd_strbuf b = {0};
    static const struct {
        uint64_t value;
        const char *bytes;
        size_t len;
    } numbers[] = {
        {0, "\0", 1},
        {1, "\1\1", 2},
        {0xff, "\1\377", 2},
        {0x100, "\2\1\0", 3},
        {0xffffff, "\3\377\377\377", 4},
        {0x8000000000000001, "\10\200\0\0\0\0\0\0\1", 9},
    };
    for (size_t i = 0; i < BD_COUNTOF(numbers); i++) {
        bd_ordered_put_number(&b, numbers[i].value);
        expect_bytes(&b, numbers[i].bytes, numbers[i].len);
    }
    static const struct {
        int64_t value;
        const char *bytes;
        size_t len;
    } signed_numbers[] = {
        {0, "\200", 1},
        {1, "\201", 1},
        {63, "\277", 1},
        {64, "\300@", 2},
        {8191, "\337\377", 2},
        {8192, "\340 \0", 3},
        {1048576, "\360\20\0\0", 4},
        {0x424242, "\360BBB", 4},
        {268435456, "\370\20\0\0\0", 5},
        {-0x800, "\x38\0", 2},
        {-1, "\177", 1},
    };
    for (size_t i = 0; i < BD_COUNTOF(signed_numbers); i++) {
        bd_ordered_put_signed(&b, signed_numbers[i].value);
        expect_bytes(&b, signed_numbers[i].bytes, signed_numbers[i].len);
    }
    bd_ordered_put_string(&b, "", 0);
    expect_bytes(&b, "\0\1", 2);
    bd_ordered_put_string(&b, "foo", 3);
    expect_bytes(&b, "foo\0\1", 5);
    bd_ordered_put_string(&b, "\0\1\xff", 3);
    expect_bytes(&b, "\0\xff\1\xff\0\0\1", 7);
    bd_strbuf_fini(&b);
}

// A number of up to 64 bits, small ones as often as large ones.
static uint64_t random_bits(bd_rng *rng)
{
    return bd_rng_next(rng) >> bd_rng_below(rng, 64);
}

static int64_t random_signed(bd_rng *rng)
{
    int64_t value = (int64_t)(random_bits(rng) >> 1);
    return bd_rng_next(rng) & 1 ? ~value : value;
}

static void numbers_keep_value_and_order(void **state)
{
    (void)state;
    bd_rng rng = bd_rng_init(1);
    bd_strbuf a = {0}, b = {0};
    for (int i = 0; i < 20000; i++) {
        uint64_t x = random_bits(&rng), y = i & 1 ? x + 1 : random_bits(&rng), back;
        bd_ordered_put_number(&a, x);
        bd_ordered_put_number(&b, y);
        int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);
        assert_true(x < y ? order < 0 : x > y ? order > 0 : order == 0);
        const uint8_t *at = start_of(&a), *end = at + a.len;
        for (const uint8_t *cut = at; cut < end; cut++)
            assert_false(bd_ordered_get_number(&at, cut, &back));
        assert_true(bd_ordered_get_number(&at, end, &back));
        assert_true(at == end && back == x);
        bd_strbuf_clear(&a);
        bd_strbuf_clear(&b);
    }
    bd_strbuf_fini(&a);
    bd_strbuf_fini(&b);
}

static void signed_numbers_keep_value_and_order(void **state)
{
    (void)state;
    bd_rng rng = bd_rng_init(2);
    bd_strbuf a = {0}, b = {0};
    for (int i = 0; i < 20000; i++) {
        int64_t x = i == 0 ? INT64_MIN : i == 1 ? INT64_MAX - 1 : random_signed(&rng), back;
        int64_t y = i & 1 && x < INT64_MAX ? x + 1 : random_signed(&rng);
        bd_ordered_put_signed(&a, x);
        bd_ordered_put_signed(&b, y);
        int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);
        assert_true(x < y ? order < 0 : x > y ? order > 0 : order == 0);
        const uint8_t *at = start_of(&a), *end = at + a.len;
        for (const uint8_t *cut = at; cut < end; cut++)
            assert_false(bd_ordered_get_signed(&at, cut, &back));
        assert_true(bd_ordered_get_signed(&at, end, &back));
        assert_true(at == end && back == x);
        bd_strbuf_clear(&a);
        bd_strbuf_clear(&b);
    }
    bd_strbuf_fini(&a);
    bd_strbuf_fini(&b);
}

static void strings_keep_value_and_order(void **state)
{
    (void)state;
    static const char letters[] = {0, 1, 'a', (char)254, (char)255};
    bd_rng rng = bd_rng_init(3);
    bd_strbuf coded[2] = {{0}, {0}}, back = {0};
    for (int i = 0; i < 5000; i++) {
        char text[2][8];
        size_t len[2];
        for (int k = 0; k < 2; k++) {
            len[k] = bd_rng_below(&rng, sizeof text[k]);
            for (size_t c = 0; c < len[k]; c++)
                text[k][c] = letters[bd_rng_below(&rng, sizeof letters)];
            bd_strbuf_clear(&coded[k]);
            bd_ordered_put_string(&coded[k], text[k], len[k]);
        }
        int plain = memcmp(text[0], text[1], len[0] < len[1] ? len[0] : len[1]);
        if (plain == 0) plain = (len[0] > len[1]) - (len[0] < len[1]);
        size_t shorter = coded[0].len < coded[1].len ? coded[0].len : coded[1].len;
        int order = memcmp(coded[0].data, coded[1].data, shorter);
        assert_true(plain < 0 ? order < 0 : plain > 0 ? order > 0 : order == 0);
        const uint8_t *at = start_of(&coded[0]), *end = at + coded[0].len;
        for (const uint8_t *cut = at; cut < end; cut++)
            assert_false(bd_ordered_get_string(&at, cut, &back));
        bd_strbuf_clear(&back);
        assert_true(bd_ordered_get_string(&at, end, &back));
        assert_true(at == end);
        assert_int_equal(back.len, len[0]);
        assert_memory_equal(bd_strbuf_str(&back), text[0], len[0]);
    }
    bd_strbuf_fini(&coded[0]);
    bd_strbuf_fini(&coded[1]);
    bd_strbuf_fini(&back);
}

#define AT(words) const uint8_t *at = (const uint8_t *)(words), *const end = at + sizeof(words) - 1

static void malformed_encodings_are_refused(void **state)
{
    (void)state;
    uint64_t number;
    int64_t value;
    bd_strbuf text = {0};
    {
        AT("\x09\x01\0\0\0\0\0\0\0\0"); // 2^64
        assert_false(bd_ordered_get_number(&at, end, &number));
    }
    {
        AT("\x02\x00\x01"); // 1 in two bytes
        assert_false(bd_ordered_get_number(&at, end, &number));
    }
    {
        AT("\xff\xc0\x80\0\0\0\0\0\0\0"); // 2^63
        assert_false(bd_ordered_get_signed(&at, end, &value));
    }
    {
        AT("\x00\x3f\x7f\xff\xff\xff\xff\xff\xff\xff"); // -2^63 - 1
        assert_false(bd_ordered_get_signed(&at, end, &value));
    }
    {
        AT("\xc0\x01"); // 1 in two bytes
        assert_false(bd_ordered_get_signed(&at, end, &value));
    }
    {
        AT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
        assert_false(bd_ordered_get_signed(&at, end, &value));
    }
    {
        AT("a\xff\xff"); // infinity, which no string is
        assert_false(bd_ordered_get_string(&at, end, &text));
    }
    {
        AT("a\0\2\0\1");
        assert_false(bd_ordered_get_string(&at, end, &text));
    }
    bd_strbuf_fini(&text);
}

// A decoded value encodes to the same bytes.
static void random_bytes_decode_to_their_own_encoding(void **state)
{
    (void)state;
    bd_rng rng = bd_rng_init(4);
    bd_strbuf again = {0};
    for (int i = 0; i < 200000; i++) {
        uint8_t bytes[12];
        for (size_t k = 0; k < sizeof bytes; k++)
            bytes[k] = (uint8_t)(bd_rng_below(&rng, 3)   ? bd_rng_next(&rng)
                                 : bd_rng_next(&rng) & 1 ? 0xff
                                                         : 0);
        const uint8_t *at = bytes;
        int64_t value;
        uint64_t number;
        bd_strbuf_clear(&again);
        if (bd_ordered_get_signed(&at, bytes + sizeof bytes, &value)) {
            bd_ordered_put_signed(&again, value);
            assert_int_equal(again.len, at - bytes);
            assert_memory_equal(bd_strbuf_str(&again), bytes, again.len);
        }
        at = bytes;
        bd_strbuf_clear(&again);
        if (bd_ordered_get_number(&at, bytes + sizeof bytes, &number)) {
            bd_ordered_put_number(&again, number);
            assert_int_equal(again.len, at - bytes);
            assert_memory_equal(bd_strbuf_str(&again), bytes, again.len);
        }
    }
    bd_strbuf_fini(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodings_match_published_ones),
        cmocka_unit_test(numbers_keep_value_and_order),
        cmocka_unit_test(signed_numbers_keep_value_and_order),
        cmocka_unit_test(strings_keep_value_and_order),
        cmocka_unit_test(malformed_encodings_are_refused),
        cmocka_unit_test(random_bytes_decode_to_their_own_encoding),
    };
    return BD_RUN_TESTS(tests);
}
