// Evaluates graphs of tests: each node once, inputs first, on this thread.
#include "base/alloc.h"
#include "base/thread.h"
#include "ops/testing/op_rows.h"
#include "ops/testing/op_run.h"
#include "ops/testing/op_test.h"
#include <string.h>

typedef struct evaluation {
    bd_value **values; // [nodes][outputs]; NULL: not computed yet
    bd_step *step;
    braid_status *st;
} evaluation;

// One run of a node that may end on another thread.
typedef struct one_run {
    bd_op_ctx ctx;
    bd_event ended;
} one_run;

static void run_ended(bd_op_ctx *c)
{
    bd_event_set(&BD_CONTAINER_OF(c, one_run, ctx)->ended);
}

// Replaces a reference by the variable's content where the node takes a value.
static braid_code read_reference(const braid_op *node, int i, bd_value *v, braid_status *st)
{
    if (!v->ref || bd_dtype_is_ref(node->input_types[i])) return BRAID_OK;
    braid_tensor content = {0};
    if (!bd_variable_read(v->ref, &content) && !bd_node_has_flag(node, BD_OP_ALLOWS_UNINITIALIZED))
        return bd_fail(st, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                       node->inputs[i].op->name);
    bd_value_fini(v);
    v->tensor = content;
    return BRAID_OK;
}

static braid_code run_node(const braid_op *node, bd_step *step, bd_value *inputs, bd_value *outputs,
                           braid_status *st)
{
    const bd_kernel *kernel;
    braid_code code = bd_kernel_find(node, "CPU", &kernel, st);
    if (code) return code;
    for (int i = 0; i < node->input_count; i++) {
        code = read_reference(node, i, &inputs[i], st);
        if (code) return code;
    }
    void *state = kernel->state_size ? bd_calloc(1, kernel->state_size) : NULL;
    if (kernel->create) code = kernel->create(node, state, st);
    if (code) {
        bd_free(state);
        return code;
    }
    one_run run = {.ctx = {.node = node,
                           .state = state,
                           .inputs = inputs,
                           .outputs = outputs,
                           .input_count = node->input_count,
                           .output_count = node->output_count,
                           .step = step,
                           .done = run_ended}};
    bd_event_init(&run.ended);
    if (kernel->run) {
        kernel->run(&run.ctx);
    } else {
        kernel->start(&run.ctx);
        if (!bd_event_wait_until(&run.ended, bd_now_ns() + OP_RUN_TIMEOUT_NS))
            bd_assert_failed(__FILE__, __LINE__, "a kernel that waits has not ended in time");
    }
    for (int i = 0; i < node->output_count; i++)
        bd_op_check_strings(&run.ctx, i);
    bd_event_fini(&run.ended);
    if (kernel->destroy) kernel->destroy(state);
    bd_free(state);
    code = bd_status_copy(st, &run.ctx.status);
    bd_status_fini(&run.ctx.status);
    return code;
}

braid_code op_run_node(const braid_op *node, bd_step *step, bd_value *inputs, bd_value *outputs,
                       braid_status *st)
{
    const op_row row = op_row_of_values(inputs, node->input_count);
    braid_code code = run_node(node, step, inputs, outputs, st);
    if (code) {
        op_row_note_error(&row, node->op_type);
    } else {
        op_row_note_outputs(&row, node->op_type, outputs, node->output_count);
    }
    return code;
}

void op_value_ref(bd_value *to, const bd_value *from)
{
    bd_tensor_ref(&to->tensor, &from->tensor);
    to->ref = from->ref;
    if (to->ref) bd_resource_ref(&to->ref->base);
}

void op_step_init(bd_step *step)
{
    *step = (bd_step){.id = 1, .container = "step", .fs = bd_fs_current};
    step->resources = bd_resources_new("localhost");
    step->cancellation = bd_cancellation_new(NULL);
}

void op_step_fini(bd_step *step)
{
    bd_cancellation_unref(step->cancellation);
    bd_resources_free(step->resources);
}

static braid_code compute(evaluation *e, braid_op *node)
{
    if (e->values[node->id]) return BRAID_OK;
    for (int i = 0; i < node->control_count; i++) {
        braid_code code = compute(e, node->controls[i]);
        if (code) return code;
    }
    bd_value *inputs = bd_calloc((size_t)node->input_count, sizeof *inputs);
    bd_value *outputs = bd_calloc((size_t)node->output_count, sizeof *outputs);
    braid_code code = BRAID_OK;
    for (int i = 0; i < node->input_count && !code; i++) {
        code = compute(e, node->inputs[i].op);
        if (!code) op_value_ref(&inputs[i], &e->values[node->inputs[i].op->id][node->inputs[i].index]);
    }
    if (!code) {
        code = op_run_node(node, e->step, inputs, outputs, e->st);
        if (code) bd_status_suffix(e->st, " [[{{node %s}}]]", node->name);
    }
    for (int i = 0; i < node->input_count; i++)
        bd_value_fini(&inputs[i]);
    bd_free(inputs);
    e->values[node->id] = outputs; // also after an error: to be ended
    return code;
}

braid_code op_test_eval(const op_binding *bindings, int binding_count, const braid_out *outs, int count,
                        braid_tensor *values, braid_status *st)
{
    if (count == 0) return BRAID_OK;
    braid_graph *g = outs[0].op->graph;
    bd_step step;
    op_step_init(&step);
    evaluation e = {bd_calloc(g->nodes.len, sizeof(bd_value *)), &step, st};
    for (int i = 0; i < binding_count; i++) {
        bd_value *v = e.values[bindings[i].op->id] = bd_calloc(1, sizeof(bd_value));
        op_value_ref(v, &bindings[i].value);
    }
    memset(values, 0, sizeof *values * (size_t)count);
    braid_code code = BRAID_OK;
    for (int i = 0; i < count && !code; i++) {
        code = compute(&e, outs[i].op);
        if (code) break;
        bd_value *v = &e.values[outs[i].op->id][outs[i].index];
        if (v->ref) {
            bd_variable_read(v->ref, &values[i]);
        } else {
            bd_tensor_ref(&values[i], &v->tensor);
        }
    }
    for (size_t i = 0; i < g->nodes.len; i++) {
        for (int k = 0; e.values[i] && k < g->nodes.items[i]->output_count; k++)
            bd_value_fini(&e.values[i][k]);
        bd_free(e.values[i]);
    }
    bd_free(e.values);
    op_step_fini(&step);
    return code;
}
