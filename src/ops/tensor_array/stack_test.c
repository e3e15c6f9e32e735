// Tests of stacks, with references to two strings as handles and with resources.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include "ops/testing/program.h"

static const char *const ops[2][3] = {{"StackPush", "StackPop", "StackClose"},
                                      {"StackPushV2", "StackPopV2", "StackCloseV2"}};
enum {
    PUSH,
    POP,
    CLOSE
};

// A stack of floats that is called s and, of version 2, holds three.
static braid_out new_stack(program *p, int v2)
{
    if (v2) return PROGRAM_OUT(p, "StackV2", "elem_type=float; stack_name=s", program_feed(p, "int32[] 3"));
    return (braid_out){op_test_node(p->g, "Stack", "elem_type=float; stack_name=s", NULL, 0), 0};
}

static braid_out push(program *p, int v2, braid_out stack, const char *value)
{
    return PROGRAM_OUT(p, ops[v2][PUSH], NULL, stack, program_feed(p, value));
}

// A node that runs after `before`.
static braid_out user_after(program *p, const char *op, braid_out stack, braid_op *before)
{
    braid_op_desc *d = braid_op_begin(p->g, op, NULL);
    braid_op_input(d, stack);
    if (strstr(op, "Push")) braid_op_input(d, program_feed(p, "float[] 1"));
    if (strstr(op, "Pop")) braid_op_attr_type(d, "elem_type", BRAID_FLOAT);
    braid_op_control(d, before);
    return (braid_out){braid_op_end(d), 0};
}

static void the_last_pushed_element_is_popped_first(void **state)
{
    (void)state;
    static const char *const values[] = {"float[] 1", "float[2] 2 3", "float[0,2]"};
    const int count = BD_COUNTOF(values);
    for (int v2 = 0; v2 < 2; v2++) {
        for (int i = 0; i < count; i++) {
            program *p = program_new();
            braid_out stack = new_stack(p, v2), outs[2 * BD_COUNTOF(values)];
            for (int k = 0; k < count; k++)
                outs[k] = push(p, v2, stack, values[k]);
            for (int k = 0; k <= i; k++)
                outs[count + k] = PROGRAM_OUT(p, ops[v2][POP], "elem_type=float", stack);
            program_expect(p, outs, count + i + 1, values[count - 1 - i]);
        }
    }
}

static void pushed_tensors_are_received(void **state)
{
    (void)state;
    for (int v2 = 0; v2 < 2; v2++) {
        program *p = program_new();
        braid_out out = push(p, v2, new_stack(p, v2), "float[2] 2 3");
        program_expect(p, &out, 1, "float[2] 2 3");
    }
}

static void mismatched_arguments_are_refused(void **state)
{
    (void)state;
    for (int v2 = 0; v2 < 2; v2++) {
        program *p = program_new();
        braid_out out = PROGRAM_OUT(p, ops[v2][POP], "elem_type=float", new_stack(p, v2));
        program_expect(p, &out, 1, "InvalidArgument: Stack[s] is empty when calling Pop().");
        p = program_new();
        out = push(p, v2, new_stack(p, v2), "int32[] 1");
        program_expect(p, &out, 1, "InvalidArgument: Must have type float but got int32");
        p = program_new();
        braid_out stack = new_stack(p, v2);
        braid_out both[2] = {push(p, v2, stack, "float[] 1"),
                             PROGRAM_OUT(p, ops[v2][POP], "elem_type=int32", stack)};
        program_expect(p, both, 2, "InvalidArgument: Must have type float but got int32");
    }
}

static void a_stack_may_have_a_limit(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out stack = new_stack(p, 1), outs[4];
    for (int i = 0; i < 4; i++)
        outs[i] = push(p, 1, stack, "float[] 1");
    program_expect(p, outs, 4, "InvalidArgument: Stack[s] overflowed its max_size (3)");
    p = program_new();
    stack = PROGRAM_OUT(p, "StackV2", "elem_type=float", program_feed(p, "int32[] -1"));
    outs[0] = push(p, 1, stack, "float[] 1");
    program_expect(p, outs, 1, "float[] 1");
}

static void a_closed_stack_is_closed_again_but_not_used(void **state)
{
    (void)state;
    for (int v2 = 0; v2 < 2; v2++) {
        for (int user = PUSH; user <= CLOSE; user++) {
            program *p = program_new();
            braid_out stack = new_stack(p, v2);
            braid_op *closed = PROGRAM_NODE(p, ops[v2][CLOSE], NULL, stack);
            braid_out late = user_after(p, ops[v2][user], stack, closed);
            if (user == CLOSE) late = user_after(p, ops[v2][PUSH], stack, late.op);
            program_expect(p, &late, 1, "InvalidArgument: Stack[s] has already been closed.");
        }
    }
}

static void invalid_stacks_are_refused(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"StackV2", "elem_type=float", "int32[1] 2",
         "InvalidArgument: Stack size must be a scalar, but had shape: [1]"},
        {"StackV2", "elem_type=float", "int32[0]",
         "InvalidArgument: Stack size must be a scalar, but had shape: [0]"},
        {"Stack", NULL, "", "InvalidArgument: attr 'elem_type'"},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {
        {"Stack", "elem_type=float", "", "[2]"},
        {"StackV2", "elem_type=float", "int32[]", "[2]"},
        {"StackV2", "elem_type=float", "int32[1]", "InvalidArgument: Shape must be rank 0 but is rank 1"},
    };
    OP_TEST_SHAPES(shapes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_pushed_element_is_popped_first),
        cmocka_unit_test(pushed_tensors_are_received),
        cmocka_unit_test(mismatched_arguments_are_refused),
        cmocka_unit_test(a_stack_may_have_a_limit),
        cmocka_unit_test(a_closed_stack_is_closed_again_but_not_used),
        cmocka_unit_test(invalid_stacks_are_refused),
    };
    return BD_RUN_TESTS(tests);
}
