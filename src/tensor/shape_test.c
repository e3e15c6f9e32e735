// Shapes: tables of merging, broadcasting and counting.
#include "tensor/shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static braid_shape shape(const char *text)
{
    braid_shape s;
    if (!bd_shape_parse(text, &s)) fail_msg("no shape: %s", text);
    return s;
}

static void check(const char *a, const char *b, const char *expected, bool made, const braid_shape *out)
{
    char text[BD_SHAPE_STR_MAX];
    if (made != (expected != NULL)) fail_msg("%s, %s: %s", a, b, made ? "should not go" : "should go");
    if (made && strcmp(bd_shape_str(out, text), expected) != 0)
        fail_msg("%s, %s: %s, not %s", a, b, text, expected);
}

typedef const char *row[3];

static void shapes_broadcast_as_in_numpy(void **state)
{
    (void)state;
    static const row rows[] = {
        {"[]", "[]", "[]"},
        {"[]", "[2,3]", "[2,3]"},
        {"[3]", "[2,3]", "[2,3]"},
        {"[2,1]", "[3]", "[2,3]"},
        {"[2,1,4]", "[3,1]", "[2,3,4]"},
        {"[0]", "[1]", "[0]"},
        {"[2,0]", "[0]", "[2,0]"},
        {"?", "[2]", "?"},
        {"?", "?", "?"},
        {"[?]", "[1]", "[?]"},
        {"[?]", "[3]", "[3]"},
        {"[?]", "[?]", "[?]"},
        {"[?,3]", "[2,1]", "[2,3]"},
        {"[0]", "[?]", "[0]"},
        {"[2]", "[3]", NULL},
        {"[2,3]", "[2]", NULL},
        {"[0]", "[2]", NULL},
        {"[1,1,1,1,1,1,1,9]", "[8,1,1,1,1,1,1,1]", "[8,1,1,1,1,1,1,9]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        braid_shape a = shape(rows[i][0]), b = shape(rows[i][1]), out;
        check(rows[i][0], rows[i][1], rows[i][2], bd_shape_broadcast(&a, &b, &out), &out);
        check(rows[i][1], rows[i][0], rows[i][2], bd_shape_broadcast(&b, &a, &out), &out);
        if (rows[i][2])
            check(rows[i][0], rows[i][1], rows[i][2], bd_shape_broadcast(&a, &b, &a), &a); // in place
    }
}

static void merged_shapes_keep_known_dimensions(void **state)
{
    (void)state;
    static const row rows[] = {
        {"?", "?", "?"},       {"?", "[2,?]", "[2,?]"}, {"[]", "[]", "[]"},   {"[2,?]", "[?,3]", "[2,3]"},
        {"[?]", "[?]", "[?]"}, {"[?]", "[0]", "[0]"},   {"[2]", "[3]", NULL}, {"[2]", "[2,2]", NULL},
        {"[]", "[1]", NULL},   {"[1]", "[2]", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        braid_shape a = shape(rows[i][0]), b = shape(rows[i][1]), out;
        check(rows[i][0], rows[i][1], rows[i][2], bd_shape_merge(&a, &b, &out), &out);
        check(rows[i][1], rows[i][0], rows[i][2], bd_shape_merge(&b, &a, &out), &out);
    }
}

static void shapes_print_as_they_parse(void **state)
{
    (void)state;
#define NINETEEN_DIGITS "9223372036854775807"
#define FOUR_DIMS NINETEEN_DIGITS "," NINETEEN_DIGITS "," NINETEEN_DIGITS "," NINETEEN_DIGITS
    static const char *const texts[] = {
        "[]", "?", "[0]", "[?]", "[2,?,3]", "[1,2,3,4,5,6,7,8]", ("[" FOUR_DIMS "," FOUR_DIMS "]"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        braid_shape s = shape(texts[i]);
        bd_strbuf out = {0};
        bd_shape_print(&s, &out);
        assert_string_equal(bd_strbuf_str(&out), texts[i]);
        bd_strbuf_fini(&out);
    }
}

static void text_that_is_no_shape(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "[",
                                        "]",
                                        "[2",
                                        "[2,]",
                                        "[,2]",
                                        "[-1]",
                                        "[ 2]",
                                        "[2]x",
                                        "2",
                                        "[a]",
                                        "??",
                                        "[2,,3]",
                                        "[?3]",
                                        "[2 ]",
                                        "[9223372036854775808]",
                                        "[1,2,3,4,5,6,7,8,9,10,11,12,13]"};
    braid_shape s;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (bd_shape_parse(texts[i], &s)) fail_msg("'%s' should be no shape", texts[i]);
}

static void the_count_of_elements_is_checked(void **state)
{
    (void)state;
    static const struct {
        const char *shape;
        int64_t count;
        const char *error;
    } rows[] = {
        {"[]", 1, NULL},
        {"[2,3]", 6, NULL},
        {"[0]", 0, NULL},
        {"[4294967296,2147483647]", 4294967296 * 2147483647, NULL},
        {"[9223372036854775807]", INT64_MAX, NULL},
        {"[4294967296,2147483648]", 0, "shape [4294967296,2147483648] has too many elements"},
        {"[0,4294967296,4294967296]", 0, "too many elements"},
        {"[2,?]", 0, "shape [2,?] is not fully known"},
        {"?", 0, "shape ? is not fully known"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        BD_STATUS(st);
        int64_t count = -7;
        braid_shape s = shape(rows[i].shape);
        braid_code code = bd_shape_checked_count(&s, &count, st);
        assert_int_equal(code, rows[i].error ? BRAID_INVALID_ARGUMENT : BRAID_OK);
        if (rows[i].error)
            assert_non_null(strstr(st->message, rows[i].error));
        else
            assert_true(count == rows[i].count && bd_shape_count(&s) == count);
        assert_true(braid_shape_num_elements(s) == (rows[i].error ? -1 : count));
    }
    BD_STATUS(st);
    int64_t count;
    braid_shape wild = {.rank = 13};
    assert_int_equal(bd_shape_checked_count(&wild, &count, st), BRAID_INVALID_ARGUMENT);
    assert_non_null(strstr(st->message, "13 dimensions; at most 12"));
}

static void ranges_of_dimensions_are_multiplied(void **state)
{
    (void)state;
    braid_shape s = shape("[2,3,5]");
    assert_int_equal(bd_shape_count_range(&s, 0, 1), 2);
    assert_int_equal(bd_shape_count_range(&s, 1, 3), 15);
    assert_int_equal(bd_shape_count_range(&s, 2, 2), 1);
}

static void public_functions_compare_shapes(void **state)
{
    (void)state;
    braid_shape a = braid_shape_make(2, (int64_t[]){2, 3});
    assert_true(braid_shape_equal(a, BRAID_SHAPE(2, 3)));
    assert_false(braid_shape_equal(a, BRAID_SHAPE(2, 4)));
    assert_false(braid_shape_equal(a, BRAID_SHAPE(2)));
    assert_true(braid_shape_equal(braid_shape_make(-1, NULL), BRAID_SHAPE_UNKNOWN));
    assert_true(braid_shape_equal(braid_shape_make(0, NULL), BRAID_SCALAR));
    assert_true(braid_shape_equal(braid_shape_make(13, NULL), BRAID_SHAPE_UNKNOWN));
    assert_int_equal(braid_shape_num_elements(BRAID_SHAPE(2, -1)), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_broadcast_as_in_numpy),
        cmocka_unit_test(merged_shapes_keep_known_dimensions),
        cmocka_unit_test(shapes_print_as_they_parse),
        cmocka_unit_test(text_that_is_no_shape),
        cmocka_unit_test(the_count_of_elements_is_checked),
        cmocka_unit_test(ranges_of_dimensions_are_multiplied),
        cmocka_unit_test(public_functions_compare_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
