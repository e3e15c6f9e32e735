// Tests of waiting until a counter has reached a value.
// labels: concurrent
#include "base/alloc.h"
#include "base/testing/test.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"
#include <string.h>

typedef struct counter {
    op_live *live;
    braid_out variable;
    braid_dtype dtype;
    bool is_resource;
} counter;

static braid_op *node(counter *c, const char *op, const char *attrs, const char *delta)
{
    const braid_out in[] = {c->variable, delta ? op_live_const(c->live, delta) : (braid_out){0}};
    return op_test_node(c->live->graph, op, attrs, in, delta ? 2 : 1);
}

static counter counter_of(const char *attrs, braid_dtype dtype, bool is_resource)
{
    counter c = {.live = op_live_new(), .dtype = dtype, .is_resource = is_resource};
    c.variable.op = op_test_node(c.live->graph, is_resource ? "VarHandleOp" : "VariableV2", attrs, NULL, 0);
    return c;
}

static op_execution *wait_for(counter *c, int64_t count)
{
    const char *op = c->is_resource ? "_ResourceWaitForCount" : "_WaitForCount";
    braid_op_desc *d = braid_op_begin(c->live->graph, op, "wait");
    braid_op_input(d, c->variable);
    braid_op_attr_int(d, "at_least", count);
    braid_op_attr_type(d, "T", c->dtype);
    return op_live_start(c->live, braid_op_end(d), "");
}

// Runs a node that changes the counter.
static void change(counter *c, braid_op *op)
{
    op_live_run(c->live, op, "", strstr(op->op_type, "VariableOp") ? "" : "*");
}

// "int64[] 1" or "int32[] 1"
static counter counter_at(const char *value, bool is_resource)
{
    const bool is_int32 = value[3] == '3';
    counter c = counter_of(is_int32 ? "dtype=int32; shape=[]; container=there; shared_name=v"
                                    : "dtype=int64; shape=[]; container=there; shared_name=v",
                           is_int32 ? BRAID_INT32 : BRAID_INT64, is_resource);
    change(&c, node(&c, is_resource ? "AssignVariableOp" : "Assign", NULL, value));
    return c;
}

static void a_wait_ends_with_the_change_that_reaches_the_count(void **state)
{
    (void)state;
    static const struct {
        const char *op, *attrs, *delta, *start;
    } table[] = {
        {"AssignAdd", NULL, "int64[] 1", "int64[] 1"},
        {"AssignAdd", "use_locking=true", "int64[] 1", "int64[] 1"},
        {"AssignAdd", NULL, "int32[] 1", "int32[] 1"},
        {"AssignSub", NULL, "int64[] -1", "int64[] 1"},
        {"CountUpTo", "limit=9", NULL, "int64[] 1"},
        {"AssignAddVariableOp", NULL, "int64[] 1", "int64[] 1"},
        {"ResourceCountUpTo", "limit=9; T=int32", NULL, "int32[] 1"},
    };
    for (size_t i = 0; i < BD_COUNTOF(table); i++) {
        counter c = counter_at(table[i].start, strstr(table[i].op, "Variable") || table[i].op[0] == 'R');
        op_execution *wait = wait_for(&c, 3), *other = wait_for(&c, 3);
        braid_op *count_up = node(&c, table[i].op, table[i].attrs, table[i].delta);
        change(&c, count_up);
        assert_false(op_execution_has_ended(wait)); // 2
        change(&c, count_up);
        op_execution_expect(wait, ""); // 3
        op_execution_expect(other, "");
        op_live_free(c.live);
    }
}

static void a_wait_ends_with_an_assignment(void **state)
{
    (void)state;
    for (int is_resource = 0; is_resource <= 1; is_resource++) {
        counter c = counter_at("int64[] 1", is_resource);
        op_execution *wait = wait_for(&c, 3);
        const char *op = is_resource ? "AssignVariableOp" : "Assign";
        change(&c, node(&c, op, NULL, "int64[] 7"));
        op_execution_expect(wait, "");
        op_live_free(c.live);
    }
}

static void a_count_that_is_reached_is_not_waited_for(void **state)
{
    (void)state;
    counter c = counter_at("int64[] 3", false);
    op_execution_expect(wait_for(&c, 3), "");
    op_execution_expect(wait_for(&c, -5), "");
    op_live_free(c.live);
}

static void a_wait_may_be_cancelled(void **state)
{
    (void)state;
    counter c = counter_at("int64[] 1", false);
    op_execution *wait = wait_for(&c, 3), *other = wait_for(&c, 2);
    op_execution_cancel(wait);
    op_execution_expect(wait, "Cancelled: Waiting for a count operation was cancelled");
    change(&c, node(&c, "AssignAdd", NULL, "int64[] 1"));
    op_execution_expect(other, "");
    op_live_free(c.live);
}

static void clearing_the_container_ends_waits(void **state)
{
    (void)state;
    counter c = counter_at("int64[] 1", true);
    op_execution *wait = wait_for(&c, 3);
    bd_resources_clear(c.live->resources, "there");
    op_execution_expect(wait, "Cancelled: ");
    op_execution_expect(wait_for(&c, 3), "FailedPrecondition: ");
    op_live_free(c.live);
}

static void only_scalars_with_a_value_count(void **state)
{
    (void)state;
    static const struct {
        bool is_resource;
        const char *attrs, *value, *want;
    } table[] = {
        {false, "dtype=int64; shape=[]", NULL, "FailedPrecondition: uninitialized value"},
        {true, "dtype=int64; shape=[]", NULL, "FailedPrecondition: "},
        {false, "dtype=int64; shape=?", "int64[2] 1 2",
         "InvalidArgument: A counter is a scalar, not of shape [2]"},
        {true, "dtype=int64; shape=?", "int64[2] 1 2",
         "InvalidArgument: A counter is a scalar, not of shape [2]"},
        {true, "dtype=int32; shape=[]", "int32[] 1", "InvalidArgument: wrong dtype"},
    };
    for (size_t i = 0; i < BD_COUNTOF(table); i++) {
        counter c = counter_of(table[i].attrs, BRAID_INT64, table[i].is_resource);
        const char *assign = table[i].is_resource ? "AssignVariableOp" : "Assign";
        const char *attrs = table[i].is_resource ? NULL : "validate_shape=false";
        if (table[i].value) change(&c, node(&c, assign, attrs, table[i].value));
        op_execution_expect(wait_for(&c, 1), table[i].want);
        op_live_free(c.live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_ends_with_the_change_that_reaches_the_count),
        cmocka_unit_test(a_wait_ends_with_an_assignment),
        cmocka_unit_test(a_count_that_is_reached_is_not_waited_for),
        cmocka_unit_test(a_wait_may_be_cancelled),
        cmocka_unit_test(clearing_the_container_ends_waits),
        cmocka_unit_test(only_scalars_with_a_value_count),
    };
    return BD_RUN_TESTS(tests);
}
