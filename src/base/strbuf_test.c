// Growable strings, splitting, and strict numbers.
#include "base/alloc.h"
#include "base/check.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void appending_grows_the_text(void **state)
{
    (void)state;
    bd_strbuf b = {0};
    assert_string_equal(bd_strbuf_str(&b), "");
    bd_strbuf_append(&b, "ab");
    bd_strbuf_append_char(&b, 'c');
    bd_strbuf_append_n(&b, "defg", 2);
    bd_strbuf_appendf(&b, "-%d-%s", 42, "x");
    assert_string_equal(bd_strbuf_str(&b), "abcde-42-x");
    assert_int_equal(b.len, strlen(b.data));
    bd_strbuf_clear(&b);
    assert_string_equal(bd_strbuf_str(&b), "");
    bd_strbuf_fini(&b);
}

static void long_formatted_text_fits(void **state)
{
    (void)state;
    bd_strbuf b = {0};
    for (int i = 0; i < 100; i++)
        bd_strbuf_appendf(&b, "%0*d", i, 0);
    assert_int_equal(b.len, 100 * 99 / 2 + 1); // %00d writes one digit
    assert_int_equal(strlen(b.data), b.len);
    bd_strbuf_fini(&b);
}

static void take_moves_the_text_to_the_caller(void **state)
{
    (void)state;
    bd_strbuf b = {0};
    char *empty = bd_strbuf_take(&b);
    assert_string_equal(empty, "");
    bd_strbuf_append_n(&b, "a\0b", 3);
    assert_int_equal(b.len, 3);
    char *text = bd_strbuf_take(&b);
    assert_memory_equal(text, "a\0b", 4);
    assert_int_equal(b.len, 0);
    assert_null(b.data);
    bd_free(empty);
    bd_free(text);
}

static void prefixes_and_suffixes(void **state)
{
    (void)state;
    assert_true(bd_str_starts_with("loc:@x", "loc:@"));
    assert_true(bd_str_starts_with("x", ""));
    assert_false(bd_str_starts_with("lo", "loc"));
    assert_true(bd_str_ends_with("model.index", ".index"));
    assert_false(bd_str_ends_with("dex", "index"));
}

static void check_split(const char *text, const char *expected)
{
    bd_strbuf b = {0};
    const char *rest = text, *piece;
    size_t len;
    while (bd_split_next(&rest, ',', &piece, &len))
        bd_strbuf_appendf(&b, "[%.*s]", (int)len, piece);
    assert_string_equal(bd_strbuf_str(&b), expected);
    bd_strbuf_fini(&b);
}

static void splitting_keeps_empty_pieces(void **state)
{
    (void)state;
    check_split("a,bc,d", "[a][bc][d]");
    check_split("", "[]");
    check_split(",", "[][]");
    check_split("a,,b,", "[a][][b][]");
}

static void integers_are_written_whole(void **state)
{
    (void)state;
    static const int64_t values[] = {0, 7, -7, 10, 1234567890, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < BD_COUNTOF(values); i++) {
        char written[BD_DECIMAL_MAX + 1], expected[BD_DECIMAL_MAX + 1];
        *bd_put_int64(written, values[i]) = 0;
        snprintf(expected, sizeof expected, "%" PRId64, values[i]);
        assert_string_equal(written, expected);
    }
    char most[BD_DECIMAL_MAX + 1];
    *bd_put_uint64(most, UINT64_MAX) = 0;
    assert_string_equal(most, "18446744073709551615");
}

static void integers_are_strict(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"-7", -7},
                {"+7", 7},
                {"007", 7},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN}};
    static const char *const bad[] = {
        "", "-", "+", " 1", "1 ", "1.0", "0x1", "--1", "9223372036854775808", "-9223372036854775809", "1e3"};
    int64_t value;
    for (size_t i = 0; i < BD_COUNTOF(good); i++) {
        assert_true(bd_parse_int64(good[i].text, &value));
        assert_true(value == good[i].value);
    }
    value = 5;
    for (size_t i = 0; i < BD_COUNTOF(bad); i++)
        assert_false(bd_parse_int64(bad[i], &value));
    assert_int_equal(value, 5);
}

static void doubles_are_strict(void **state)
{
    (void)state;
    double value = 0;
    assert_true(bd_parse_double("-1.5e3", &value));
    assert_true(value == -1500);
    assert_true(bd_parse_double("inf", &value) && isinf(value));
    assert_true(bd_parse_double("nan", &value) && isnan(value));
    assert_true(bd_parse_double("1e-320", &value) && value > 0); // subnormal
    static const char *const bad[] = {"", " 1", "1 ", "1,5", "1e999", "x", "1.5x"};
    for (size_t i = 0; i < BD_COUNTOF(bad); i++)
        assert_false(bd_parse_double(bad[i], &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appending_grows_the_text),
        cmocka_unit_test(long_formatted_text_fits),
        cmocka_unit_test(take_moves_the_text_to_the_caller),
        cmocka_unit_test(prefixes_and_suffixes),
        cmocka_unit_test(splitting_keeps_empty_pieces),
        cmocka_unit_test(integers_are_written_whole),
        cmocka_unit_test(integers_are_strict),
        cmocka_unit_test(doubles_are_strict),
    };
    return BD_RUN_TESTS(tests);
}
