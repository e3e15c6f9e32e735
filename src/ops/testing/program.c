// Small graphs over fed tensors, evaluated once.
#include "ops/testing/program.h"

#include "base/testing/test.h"

program *program_new(void)
{
    program *p = bd_calloc(1, sizeof *p);
    p->g = braid_graph_new();
    return p;
}

braid_out program_feed(program *p, const char *text)
{
    assert_true((size_t)p->count < BD_COUNTOF(p->bindings));
    op_binding *b = &p->bindings[p->count++];
    op_test_tensor(&b->value.tensor, text);
    braid_op_desc *d = braid_op_begin(p->g, "Placeholder", NULL);
    braid_op_attr_type(d, "dtype", b->value.tensor.dtype);
    b->op = braid_op_end(d);
    return (braid_out){b->op, 0};
}

static void expect_error(const braid_status *st, const char *want)
{
    const char *colon = strstr(want, ": ");
    if (!colon || !strstr(braid_status_message(st), colon + 2))
        fail_msg("want %s, got %s", want, braid_status_message(st));
    assert_memory_equal(want, braid_code_name(st->code), (size_t)(colon - want));
}

void program_expect(program *p, const braid_out *outs, int count, const char *want)
{
    BD_STATUS(st);
    braid_tensor *values = bd_calloc((size_t)count, sizeof *values);
    if (braid_graph_status(p->g, st) || op_test_eval(p->bindings, p->count, outs, count, values, st))
        expect_error(st, want);
    else
        op_test_expect(&values[count - 1], want, 0, want);
    for (int i = 0; i < count; i++)
        bd_tensor_fini(&values[i]);
    bd_free(values);
    for (int i = 0; i < p->count; i++)
        bd_value_fini(&p->bindings[i].value);
    braid_graph_free(p->g);
    bd_free(p);
}
