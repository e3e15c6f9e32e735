// Runs stateful nodes for tests.
#include "ops/testing/op_live.h"

#include "base/alloc.h"
#include "ops/testing/op_case.h"
#include "ops/testing/op_run.h"
#include "ops/testing/op_test.h"
#include <string.h>
// cmocka wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

op_live *op_live_new(void)
{
    op_live *l = bd_calloc(1, sizeof *l);
    l->graph = braid_graph_new();
    l->resources = bd_resources_new("localhost");
    bd_mutex_init(&l->mu);
    return l;
}

void op_live_free(op_live *l)
{
    for (int i = 0; i < l->state_count; i++) {
        if (!l->kernels[i]) continue;
        if (l->kernels[i]->destroy) l->kernels[i]->destroy(l->states[i]);
        bd_free(l->states[i]);
    }
    bd_free(l->states);
    bd_free(l->kernels);
    bd_resources_free(l->resources);
    braid_graph_free(l->graph);
    bd_mutex_fini(&l->mu);
    bd_free(l);
}

braid_out op_live_const(op_live *l, const char *text)
{
    braid_tensor t;
    op_test_tensor(&t, text);
    for (int64_t i = 0; t.dtype == BRAID_STRING && i < bd_tensor_count(&t); i++) {
        bd_string *s = &bd_tensor_str(&t)[i];
        for (size_t k = 0; k < s->len; k++)
            s->data[k] = s->data[k] == '~' ? ' ' : s->data[k] == '^' ? '\n' : s->data[k];
    }
    braid_op_desc *d = braid_op_begin(l->graph, "Const", NULL);
    braid_op_attr_type(d, "dtype", t.dtype);
    braid_op_attr_tensor(d, "value", &t);
    bd_tensor_fini(&t);
    return braid_op_end_out(d);
}

braid_out op_live_unknown(op_live *l, const char *text)
{
    braid_op_desc *d = braid_op_begin(l->graph, "PlaceholderWithDefault", NULL);
    braid_op_input(d, op_live_const(l, text));
    braid_op_attr_shape(d, "shape", BD_SHAPE_UNKNOWN);
    return braid_op_end_out(d);
}

braid_out op_live_placeholder(op_live *l, braid_dtype dtype)
{
    braid_op_desc *d = braid_op_begin(l->graph, "Placeholder", NULL);
    braid_op_attr_type(d, "dtype", dtype);
    return braid_op_end_out(d);
}

static void grow_locked(op_live *l)
{
    int count = (int)l->graph->nodes.len;
    if (l->state_count >= count) return;
    size_t more = (size_t)(count - l->state_count);
    l->states = bd_realloc(l->states, sizeof *l->states * (size_t)count);
    l->kernels = bd_realloc(l->kernels, sizeof *l->kernels * (size_t)count);
    memset(l->states + l->state_count, 0, sizeof *l->states * more);
    memset(l->kernels + l->state_count, 0, sizeof *l->kernels * more);
    l->state_count = count;
}

// The kernel of a node and its state; NULL with an error.
static const bd_kernel *bind(op_live *l, const braid_op *node, void **state, braid_status *st)
{
    const bd_kernel *kernel = NULL;
    bd_mutex_lock(&l->mu);
    grow_locked(l);
    if (!l->kernels[node->id] && bd_kernel_find(node, "CPU", &kernel, st) == BRAID_OK) {
        void *made = kernel->state_size ? bd_calloc(1, kernel->state_size) : NULL;
        if (kernel->create && kernel->create(node, made, st)) {
            bd_free(made);
        } else {
            l->kernels[node->id] = kernel;
            l->states[node->id] = made;
        }
    }
    kernel = l->kernels[node->id];
    *state = l->states[node->id];
    bd_mutex_unlock(&l->mu);
    return kernel;
}

static void execution_done(bd_op_ctx *c)
{
    bd_event_set(&((op_execution *)c)->ended);
}

static op_execution *new_execution(op_live *l, const braid_op *node)
{
    op_execution *e = bd_calloc(1, sizeof *e);
    e->step = (bd_step){
        .id = 1, .container = "step", .resources = l->resources, .io_pool = l->io_pool, .fs = bd_fs_current};
    e->step.cancellation = bd_cancellation_new(NULL);
    bd_event_init(&e->ended);
    e->ctx = (bd_op_ctx){.node = node,
                         .inputs = bd_calloc((size_t)node->input_count, sizeof(bd_value)),
                         .outputs = bd_calloc((size_t)node->output_count, sizeof(bd_value)),
                         .input_count = node->input_count,
                         .output_count = node->output_count,
                         .step = &e->step,
                         .done = execution_done};
    return e;
}

void op_execution_free(op_execution *e)
{
    if (e->ctx.status.code) {
        op_row_note_error(&e->row, e->ctx.node->op_type);
    } else {
        op_row_note_outputs(&e->row, e->ctx.node->op_type, e->ctx.outputs, e->ctx.output_count);
    }
    for (int i = 0; i < e->ctx.input_count; i++)
        bd_value_fini(&e->ctx.inputs[i]);
    for (int i = 0; i < e->ctx.output_count; i++)
        bd_value_fini(&e->ctx.outputs[i]);
    bd_free(e->ctx.inputs);
    bd_free(e->ctx.outputs);
    bd_status_fini(&e->ctx.status);
    bd_event_fini(&e->ended);
    bd_cancellation_unref(e->step.cancellation);
    bd_free(e);
}

static op_execution *start(op_live *l, braid_op *node, const op_text *feeds, int feed_count, int *fed);

static void make_input(op_live *l, op_execution *e, int i, const op_text *feeds, int feed_count, int *fed)
{
    braid_out from = e->ctx.node->inputs[i];
    bd_value *to = &e->ctx.inputs[i];
    if (strcmp(from.op->op_type, "Placeholder") == 0) {
        if (*fed >= feed_count) fail_msg("no tensor is fed to %s", from.op->name);
        op_text_tensor(&feeds[(*fed)++], &to->tensor);
        return;
    }
    op_execution *source = start(l, from.op, feeds, feed_count, fed);
    op_execution_wait(source);
    bd_status_copy(&e->ctx.status, &source->ctx.status);
    op_value_ref(to, &source->ctx.outputs[from.index]);
    if (to->ref && !bd_dtype_is_ref(e->ctx.node->input_types[i])) {
        bd_variable *v = to->ref;
        bd_variable_read(v, &to->tensor);
        to->ref = NULL;
        bd_resource_unref(&v->base);
    }
    op_execution_free(source);
}

static op_execution *start(op_live *l, braid_op *node, const op_text *feeds, int feed_count, int *fed)
{
    op_execution *e = new_execution(l, node);
    BD_STATUS(st);
    for (int i = 0; i < node->input_count && !e->ctx.status.code; i++)
        make_input(l, e, i, feeds, feed_count, fed);
    e->row = op_row_of_values(e->ctx.inputs, node->input_count);
    const bd_kernel *kernel = bind(l, node, &e->ctx.state, st);
    if (!kernel) bd_op_fail_status(&e->ctx, st);
    if (e->ctx.status.code) {
        bd_event_set(&e->ended);
    } else if (kernel->start) {
        kernel->start(&e->ctx);
    } else {
        kernel->run(&e->ctx);
        bd_event_set(&e->ended);
    }
    return e;
}

op_execution *op_live_start(op_live *l, braid_op *node, const char *feeds)
{
    op_text texts[OP_TEXT_MAX];
    int count = op_text_read(feeds, texts), fed = 0;
    op_execution *e = start(l, node, texts, count, &fed);
    op_text_fini(texts, count);
    return e;
}

bool op_execution_has_ended(op_execution *e)
{
    return bd_event_is_set(&e->ended);
}

void op_execution_cancel(op_execution *e)
{
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, "the test cancels");
    bd_cancellation_cancel(e->step.cancellation, why);
}

void op_execution_wait(op_execution *e)
{
    if (!bd_event_wait_until(&e->ended, bd_now_ns() + OP_RUN_TIMEOUT_NS))
        bd_assert_failed(__FILE__, __LINE__, "an execution has not ended in time");
}

void op_execution_expect(op_execution *e, const char *want)
{
    const char *where = e->ctx.node->name, *code, *words;
    size_t code_len;
    op_execution_wait(e);
    if (e->ctx.status.code) {
        op_case_expect_error(&e->ctx.status, want, where);
    } else if (op_text_error(want, &code, &code_len, &words)) {
        fail_msg("%s: no error", where);
    } else {
        op_text texts[OP_TEXT_MAX];
        int count = op_text_read(want, texts);
        if (count != e->ctx.output_count) fail_msg("%s: %d outputs", where, e->ctx.output_count);
        for (int i = 0; i < count; i++)
            op_case_expect(&e->ctx.outputs[i].tensor, &texts[i], 0, where);
        op_text_fini(texts, count);
    }
    op_execution_free(e);
}

void op_live_run(op_live *l, braid_op *node, const char *feeds, const char *want)
{
    op_execution_expect(op_live_start(l, node, feeds), want);
}
