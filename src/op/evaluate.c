// Runs single kernels before any step, for constants of the graph.
#include "graph/evaluate.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "op/kernel.h"

static void take_outputs(bd_value *values, int count, braid_tensor *outputs)
{
    for (int i = 0; i < count; i++) {
        bd_tensor_move(&outputs[i], &values[i].tensor);
        bd_value_fini(&values[i]);
    }
}

// Kernels may write to unshared inputs in place: so the graph holds the inputs as well.
static braid_code run(const bd_kernel *kernel, const braid_op *node, void *state, const braid_tensor *inputs,
                      braid_tensor *outputs, braid_status *st)
{
    bd_value *values = bd_calloc((size_t)node->input_count + (size_t)node->output_count, sizeof *values);
    bd_step step = {0};
    bd_op_ctx c = {.node = node,
                   .state = state,
                   .inputs = values,
                   .outputs = values + node->input_count,
                   .input_count = node->input_count,
                   .output_count = node->output_count,
                   .step = &step};
    for (int i = 0; i < node->input_count; i++)
        bd_tensor_ref(&values[i].tensor, &inputs[i]);
    kernel->run(&c);
    if (bd_interrupted()) bd_op_fail(&c, BRAID_CANCELLED, "'%s' takes too long", node->name);
    for (int i = 0; i < c.output_count; i++)
        bd_op_check_strings(&c, i);
    for (int i = 0; i < node->input_count; i++)
        bd_value_fini(&values[i]);
    if (!bd_op_failed(&c)) {
        take_outputs(c.outputs, c.output_count, outputs);
    } else {
        for (int i = 0; i < node->output_count; i++)
            bd_value_fini(&c.outputs[i]);
    }
    bd_free(values);
    bd_status_move(st, &c.status);
    return st->code;
}

braid_code bd_evaluate_node(const braid_op *node, const braid_tensor *inputs, braid_tensor *outputs,
                            braid_status *st)
{
    const bd_kernel *kernel;
    braid_code code = bd_kernel_find(node, "CPU", &kernel, st);
    if (code) return code;
    if (!kernel->run)
        return bd_fail(st, BRAID_UNIMPLEMENTED, "'%s' (%s) waits while it runs", node->name, node->op_type);
    void *state = kernel->state_size ? bd_calloc(1, kernel->state_size) : NULL;
    if (kernel->create) code = kernel->create(node, state, st);
    if (!code) {
        code = run(kernel, node, state, inputs, outputs, st);
        if (kernel->destroy) kernel->destroy(state);
    }
    bd_free(state);
    return code;
}
