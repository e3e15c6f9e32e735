// Tokens of synchronous training: each lets a replica begin a step, whose number it holds.
#include "base/alloc.h"
#include "train/common/build.h"
#include "train/sessions/sync_replicas.h"
#include "train/variables/variable_internal.h"
#include <braid/ops.h>

static void make_queue(braid_sync_replicas *s, const char *shared_name)
{
    const braid_dtype type = train_sync_step_type(s);
    const braid_shape shape = BRAID_SCALAR;
    braid_op_desc *d = braid_op_begin(s->graph, "FIFOQueueV2", "sync_token_q");
    braid_op_attr_type_list(d, "component_types", &type, 1);
    braid_op_attr_shape_list(d, "shapes", &shape, 1);
    braid_op_attr_string(d, "shared_name", shared_name);
    bd_array_push(&s->queues, braid_op_end_out(d));
}

void train_make_token_queues(braid_sync_replicas *s)
{
    if (!s->is_deterministic) {
        make_queue(s, "sync_token_q");
        return;
    }
    for (int i = 0; i < s->total; i++) {
        char *shared_name = bd_asprintf("sync_token_q/replica_%d", i);
        make_queue(s, shared_name);
        bd_free(shared_name);
    }
}

// A token may be left from before the chief restored a checkpoint, of a step that the variables have not
// reached yet. The global step has been reached by all variables.
static braid_out read_step_after(braid_sync_replicas *s, braid_op *token)
{
    braid_push_control(s->graph, &token, 1);
    const braid_out step = train_read(s->graph, "local_step", s->step, train_sync_step_type(s));
    braid_pop_control(s->graph);
    return step;
}

braid_op *train_take_token(braid_sync_replicas *s, braid_op *const *after, int count)
{
    const braid_dtype type = train_sync_step_type(s);
    braid_push_control(s->graph, after, count);
    braid_op_desc *d = braid_op_begin(s->graph, "QueueDequeueV2", "sync_token_q_Dequeue");
    braid_op_input(d, s->queues.items[s->is_deterministic ? s->replica : 0]);
    braid_op_attr_type_list(d, "component_types", &type, 1);
    braid_out step = braid_op_end_out(d);
    braid_pop_control(s->graph);
    if (s->is_deterministic) step = read_step_after(s, step.op);
    return braid_assign(s->graph, s->local_step.ref, step).op;
}

static braid_op *grouped(braid_graph *g, const train_ops *list)
{
    return list->len == 1 ? list->items[0] : braid_group(g, NULL, list->items, (int)list->len);
}

void train_build_token_reset(braid_sync_replicas *s)
{
    braid_graph *g = s->graph;
    if (s->resets_tokens || braid_graph_status(g, NULL)) return;
    s->resets_tokens = true;
    train_ops begun = {0};
    bd_array_push(&begun, s->begin_as_chief);
    (void)braid_push_name_scope(g, NULL);
    for (size_t i = 0; i < s->queues.len; i++) {
        braid_push_colocate(g, s->queues.items[i].op);
        braid_op_desc *d = braid_op_begin(g, "QueueSizeV2", "sync_token_q_Reset");
        braid_op_input(d, s->queues.items[i]);
        braid_op_attr_bool(d, "_reset", true);
        bd_array_push(&begun, braid_op_end(d));
        braid_pop_colocate(g);
    }
    s->begin_as_chief = grouped(g, &begun);
    braid_pop_name_scope(g);
    bd_array_free(&begun);
}

braid_op *train_add_tokens(braid_sync_replicas *s, int count, braid_out step)
{
    braid_graph *g = s->graph;
    const char *scope = braid_push_name_scope(g, "Fill");
    const braid_out dims = braid_const_int32s(g, "dims", (int32_t[]){count}, 1);
    braid_pop_name_scope(g);
    const braid_out values = train_node2(g, "Fill", scope, dims, step);
    train_ops added = {0};
    for (size_t i = 0; i < s->queues.len; i++) {
        braid_op_desc *d = braid_op_begin(g, "QueueEnqueueManyV2", "sync_token_q_EnqueueMany");
        braid_op_input(d, s->queues.items[i]);
        braid_op_input_list(d, &values, 1);
        bd_array_push(&added, braid_op_end(d));
    }
    braid_op *all = grouped(g, &added);
    bd_array_free(&added);
    return all;
}

void train_build_no_more_tokens(braid_sync_replicas *s)
{
    train_ops ended = {0};
    for (size_t i = 0; i < s->queues.len; i++) {
        braid_op_desc *d = braid_op_begin(s->graph, "QueueCloseV2", "sync_token_q_Close");
        braid_op_input(d, s->queues.items[i]);
        braid_op_attr_bool(d, "cancel_pending_enqueues", true);
        bd_array_push(&ended, braid_op_end(d));
    }
    s->no_more_tokens = grouped(s->graph, &ended);
    bd_array_free(&ended);
}

void train_build_first_tokens(braid_sync_replicas *s, int num_tokens)
{
    braid_graph *g = s->graph;
    const int needed = s->required - s->total;
    if (s->first_tokens || braid_graph_status(g, NULL)) return;
    if (num_tokens < -1 || (num_tokens >= 0 && num_tokens < needed)) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "Too few tokens to finish the first step: %d (given) vs %d (needed)", num_tokens,
                         needed);
        return;
    }
    if (s->is_deterministic && num_tokens >= 0 && num_tokens != needed) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "Deterministic synchronous training begins with %d tokens, not %d", needed,
                         num_tokens);
        return;
    }
    if (num_tokens == -1) num_tokens = s->is_deterministic ? needed : s->required;
    (void)braid_push_name_scope(g, NULL);
    if (num_tokens > 0) {
        braid_push_device(g, braid_op_requested_device(s->step.op));
        s->first_tokens = train_add_tokens(s, num_tokens / (int)s->queues.len, train_sync_step(s));
        braid_pop_device(g);
    } else {
        s->first_tokens = braid_no_op(g, "no_init_tokens");
    }
    braid_pop_name_scope(g);
}
