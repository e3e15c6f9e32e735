// Tests of temporary variables and counters.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include "ops/testing/program.h"

#define TEMPORARY(P, ATTRS) ((braid_out){op_test_node((P)->g, "TemporaryVariable", ATTRS, NULL, 0), 0})

static void a_temporary_variable_lives_for_a_step(void **state)
{
    static const struct {
        const char *attrs, *value;
    } cases[] = {
        {"dtype=float; shape=[2]; var_name=t", "float[2] 1 2"},
        {"dtype=int32; shape=[]; var_name=t", "int32[] 3"},
        {"dtype=string; shape=[0,2]; var_name=t", "string[0,2]"},
    };
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        program *p = program_new();
        braid_out v = TEMPORARY(p, cases[i].attrs);
        braid_out set = PROGRAM_OUT(p, "Assign", NULL, v, program_feed(p, cases[i].value));
        braid_out last = PROGRAM_OUT(p, "DestroyTemporaryVariable", "var_name=t", set);
        program_expect(p, &last, 1, cases[i].value);
    }
}

static void a_temporary_variable_starts_with_zeros(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out last = PROGRAM_OUT(p, "DestroyTemporaryVariable", "var_name=t",
                                 TEMPORARY(p, "dtype=float; shape=[2]; var_name=t"));
    program_expect(p, &last, 1, "float[2] 0");
}

static void a_temporary_variable_is_destroyed_once(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out v = TEMPORARY(p, "dtype=float; shape=[2]; var_name=t");
    braid_out last[2] = {PROGRAM_OUT(p, "DestroyTemporaryVariable", "var_name=t", v),
                         PROGRAM_OUT(p, "DestroyTemporaryVariable", "var_name=t", v)};
    program_expect(p, last, 2, "NotFound: does not exist");
    p = program_new();
    last[0] = PROGRAM_OUT(p, "DestroyTemporaryVariable", "var_name=another",
                          TEMPORARY(p, "dtype=float; shape=[2]; var_name=t"));
    program_expect(p, last, 1, "NotFound: does not exist");
}

static void a_name_is_of_one_temporary_variable(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out both[2] = {TEMPORARY(p, "dtype=float; shape=[2]; var_name=t"),
                         TEMPORARY(p, "dtype=float; shape=[2]; var_name=t")};
    program_expect(p, both, 2, "AlreadyExists: Resource step/t/");
}

static void refused_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"TemporaryVariable", "dtype=float; shape=?", "", "InvalidArgument: "},
        {"TemporaryVariable", "dtype=float; shape=[1099511627776,1048576]", "", "ResourceExhausted: "},
        {"DestroyTemporaryVariable", "var_name=t", "ref float[2] 1", "NotFound: does not exist"},
    };
    OP_TEST_VALUES(cases);
}

static void count_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"CountUpTo", "limit=3", "ref int32[] 2", "int32[] 2", "int32[] 3"},
        {"CountUpTo", "limit=3", "ref int64[] 3", "OutOfRange: Reached limit of 3", "int64[] 3"},
        {"CountUpTo", "limit=3", "ref int64[]", "FailedPrecondition: uninitialized value"},
        {"CountUpTo", "limit=3", "ref int64[1] 1", "InvalidArgument: input is not a scalar: [1]"},
        {"CountUpTo", "limit=3", "ref int64[0] empty", "InvalidArgument: input is not a scalar: [0]"},
        {"ResourceCountUpTo", "limit=3; T=int32", "var int32[] 2", "int32[] 2", "int32[] 3"},
        {"ResourceCountUpTo", "limit=3; T=int64", "var int64[] 3", "OutOfRange: Reached limit of 3",
         "int64[] 3"},
        {"ResourceCountUpTo", "limit=3; T=int64", "var int32[] 1", "InvalidArgument: wrong dtype"},
        {"ResourceCountUpTo", "limit=3; T=int64", "var int64[1] 1",
         "InvalidArgument: input is not a scalar: [1]"},
        {"ResourceCountUpTo", "limit=3; T=int32", "var int32[0] empty",
         "InvalidArgument: input is not a scalar: [0]"},
    };
    OP_TEST_VALUES(cases);
}

static void the_next_element_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ObtainNext", NULL, "string[3] a b c; ref int64[] -1", "string[] a", "int64[] 0"},
        {"ObtainNext", NULL, "string[3] a b c; ref int64[] 1", "string[] c", "int64[] 2"},
        {"ObtainNext", NULL, "string[3] a b c; ref int64[] 2", "string[] a", "int64[] 0"},
        {"ObtainNext", NULL, "string[1] ''; ref int64[] 0", "string[] ''", "int64[] 0"},
        {"ObtainNext", NULL, "string[0]; ref int64[] 0", "InvalidArgument: a list of 0 elements",
         "int64[] 0"},
        {"ObtainNext", NULL, "string[2] a b; ref int64[] -2", "InvalidArgument: after that of index -2",
         "int64[] -2"},
        {"ObtainNext", NULL, "string[2] a b; ref int64[]", "FailedPrecondition: uninitialized value"},
        {"ObtainNext", NULL, "string[2] a b; ref int64[1] 0", "InvalidArgument: "},
        {"ObtainNext", NULL, "string[2] a b; ref int64[0] empty", "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"TemporaryVariable", "dtype=float; shape=[2,3]", "", "[2,3]"},
        {"CountUpTo", "limit=2", "ref int32[]", "[]"},
        {"ObtainNext", NULL, "string[?]; ref int64[]", "[]"},
        {"ObtainNext", NULL, "string[]; ref int64[]", "InvalidArgument: Shape must be rank 1 but is rank 0"},
        {"ResourceCountUpTo", "limit=3; T=int32", "var int32[]", "[]"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_temporary_variable_lives_for_a_step),
        cmocka_unit_test(a_temporary_variable_starts_with_zeros),
        cmocka_unit_test(a_temporary_variable_is_destroyed_once),
        cmocka_unit_test(a_name_is_of_one_temporary_variable),
        cmocka_unit_test(refused_follows_its_definition),
        cmocka_unit_test(count_follows_its_definition),
        cmocka_unit_test(the_next_element_follows_its_definition),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
