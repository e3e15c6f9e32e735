// Element types: names, sizes and sets.
#include "tensor/dtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    int number;
    const char *name, *proto_name;
    size_t size;
    bool number_set, real_set;
} table[] = {
    {1, "float", "DT_FLOAT", 4, 1, 1},      {2, "double", "DT_DOUBLE", 8, 1, 1},
    {3, "int32", "DT_INT32", 4, 1, 1},      {4, "uint8", "DT_UINT8", 1, 1, 1},
    {5, "int16", "DT_INT16", 2, 1, 1},      {6, "int8", "DT_INT8", 1, 1, 1},
    {7, "string", "DT_STRING", 0, 0, 0},    {8, "complex64", "DT_COMPLEX64", 8, 1, 0},
    {9, "int64", "DT_INT64", 8, 1, 1},      {10, "bool", "DT_BOOL", 1, 0, 0},
    {11, "qint8", "DT_QINT8", 1, 1, 0},     {12, "quint8", "DT_QUINT8", 1, 1, 0},
    {13, "qint32", "DT_QINT32", 4, 1, 0},   {14, "bfloat16", "DT_BFLOAT16", 2, 1, 1},
    {15, "qint16", "DT_QINT16", 2, 0, 0},   {16, "quint16", "DT_QUINT16", 2, 0, 0},
    {17, "uint16", "DT_UINT16", 2, 1, 1},   {18, "complex128", "DT_COMPLEX128", 16, 1, 0},
    {19, "half", "DT_HALF", 2, 1, 1},       {20, "resource", "DT_RESOURCE", 0, 0, 0},
    {21, "variant", "DT_VARIANT", 0, 0, 0}, {22, "uint32", "DT_UINT32", 4, 1, 1},
    {23, "uint64", "DT_UINT64", 8, 1, 1},
};

#define TABLE_LEN (sizeof table / sizeof *table)

static braid_dtype parse(const char *name)
{
    return bd_dtype_parse(name, strlen(name));
}

static void types_have_their_names_and_sizes(void **state)
{
    (void)state;
    for (size_t i = 0; i < TABLE_LEN; i++) {
        braid_dtype t = (braid_dtype)table[i].number;
        assert_string_equal(braid_dtype_name(t), table[i].name);
        assert_int_equal(braid_dtype_size(t), table[i].size);
        assert_int_equal(parse(table[i].name), t);
        assert_int_equal(parse(table[i].proto_name), t);
        assert_int_equal((bd_dtypes_number & BD_DTYPE_BIT(t)) != 0, table[i].number_set);
        assert_int_equal((bd_dtypes_realnumber & BD_DTYPE_BIT(t)) != 0, table[i].real_set);
    }
}

static void reference_types_have_a_base_type(void **state)
{
    (void)state;
    for (size_t i = 0; i < TABLE_LEN; i++) {
        braid_dtype t = (braid_dtype)table[i].number, ref = bd_dtype_ref(t);
        assert_int_equal(ref, table[i].number + 100);
        assert_int_equal(bd_dtype_base(ref), t);
        assert_true(bd_dtype_is_ref(ref));
        assert_false(bd_dtype_is_ref(t));
        assert_int_equal(parse(braid_dtype_name(ref)), ref);
        assert_true(strstr(braid_dtype_name(ref), "_ref") != NULL);
        assert_int_equal(braid_dtype_size(ref), table[i].size);
    }
    assert_int_equal(parse("DT_FLOAT_REF"), BRAID_FLOAT + 100);
}

static void invalid_types_are_refused(void **state)
{
    (void)state;
    static const int numbers[] = {-1, 0, 24, 99, 100, 124, 201, 1 << 30};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_false(bd_dtype_is_valid(numbers[i]));
        assert_string_equal(braid_dtype_name((braid_dtype)numbers[i]), "invalid");
        assert_int_equal(braid_dtype_size((braid_dtype)numbers[i]), 0);
    }
    static const char *const names[] = {"", "floa", "float32", "Float", "float ", "DT_", "_ref", "invalid"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(parse(names[i]), BRAID_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_have_their_names_and_sizes),
        cmocka_unit_test(reference_types_have_a_base_type),
        cmocka_unit_test(invalid_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
