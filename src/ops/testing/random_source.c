// Random nodes whose kernels stay bound from call to call.
#include "ops/testing/random_source.h"

#include "base/alloc.h"
#include "base/testing/test.h"
#include "ops/testing/op_rows.h"

void op_random_open(op_random_source *s, const char *op, const char *attrs, const char *inputs[], int count)
{
    BD_STATUS(st);
    *s = (op_random_source){.graph = braid_graph_new()};
    braid_out in[5];
    for (int i = 0; i < count; i++) {
        op_test_tensor(&s->inputs[i].tensor, inputs[i]);
        braid_op_desc *d = braid_op_begin(s->graph, "Placeholder", NULL);
        braid_op_attr_type(d, "dtype", s->inputs[i].tensor.dtype);
        in[i] = braid_op_end_out(d);
    }
    s->node = op_test_node(s->graph, op, attrs, in, count);
    braid_graph_status(s->graph, st);
    assert_ok(st);
    bd_kernel_find(s->node, "CPU", &s->kernel, st);
    assert_ok(st);
    s->state = bd_calloc(1, s->kernel->state_size);
    s->kernel->create(s->node, s->state, st);
    assert_ok(st);
}

void op_random_draw(op_random_source *s, braid_tensor *out)
{
    bd_step step = {.pool = s->pool};
    bd_value output = {0};
    bd_op_ctx c = {.node = s->node,
                   .state = s->state,
                   .inputs = s->inputs,
                   .input_count = s->node->input_count,
                   .outputs = &output,
                   .output_count = 1,
                   .step = &step};
    const op_row row = op_row_of_values(s->inputs, c.input_count);
    s->kernel->run(&c);
    assert_ok(&c.status);
    op_row_note_outputs(&row, s->node->op_type, &output, 1);
    *out = output.tensor;
}

void op_random_close(op_random_source *s)
{
    s->kernel->destroy(s->state);
    bd_free(s->state);
    for (int i = 0; i < 5; i++)
        bd_value_fini(&s->inputs[i]);
    braid_graph_free(s->graph);
}

void op_random_check(const op_random_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        op_random_source s;
        op_random_open(&s, cases[i].op, cases[i].attrs, (const char **)cases[i].inputs, cases[i].input_count);
        for (int k = 0; k < 2 && cases[i].calls[k]; k++) {
            braid_tensor got;
            op_random_draw(&s, &got);
            op_test_expect(&got, cases[i].calls[k], got.dtype == BRAID_FLOAT ? 2e-7 : 1e-14, cases[i].op);
            bd_tensor_fini(&got);
        }
        op_random_close(&s);
    }
}
