// Tests of BytesInUse, MaxBytesInUse and BytesLimit.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void memory_is_counted(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"BytesInUse", NULL, "", "*"},
        {"MaxBytesInUse", NULL, "", "*"},
        {"BytesLimit", NULL, "", "int64[] -1"},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {
        {"BytesInUse", NULL, "", "[]"},
        {"MaxBytesInUse", NULL, "", "[]"},
        {"BytesLimit", NULL, "", "[]"},
    };
    OP_TEST_SHAPES(shapes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_is_counted)};
    return BD_RUN_TESTS(tests);
}
