// Collects the record of a traced step.
#include "runtime/step_stats_collector.h"

#include "base/strbuf.h"
#include "base/thread.h"

struct bd_step_stats_collector {
    atomic_int refs;
    bd_mutex mu;
    BD_ARRAY(bd_node_stats) items; // guarded by mu
};

bd_step_stats_collector *bd_step_stats_collector_new(void)
{
    bd_step_stats_collector *s = bd_calloc(1, sizeof *s);
    atomic_init(&s->refs, 1);
    bd_mutex_init(&s->mu);
    return s;
}

bd_step_stats_collector *bd_step_stats_collector_ref(bd_step_stats_collector *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void bd_step_stats_collector_unref(bd_step_stats_collector *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
    for (size_t i = 0; i < s->items.len; i++) {
        bd_free(s->items.items[i].node);
        bd_free(s->items.items[i].label);
        bd_free(s->items.items[i].outputs);
    }
    bd_array_free(&s->items);
    bd_mutex_fini(&s->mu);
    bd_free(s);
}

static char *make_label(const braid_op *n)
{
    bd_strbuf b = {0};
    bd_strbuf_appendf(&b, "%s = %s(", n->name, n->op_type);
    for (int i = 0; i < n->input_count; i++) {
        bd_strbuf_appendf(&b, "%s%s", i ? ", " : "", n->inputs[i].op->name);
        if (n->inputs[i].index > 0) bd_strbuf_appendf(&b, ":%d", n->inputs[i].index);
    }
    for (int i = 0; i < n->control_count; i++)
        bd_strbuf_appendf(&b, "%s^%s", n->input_count + i ? ", " : "", n->controls[i]->name);
    bd_strbuf_append(&b, ")");
    return bd_strbuf_take(&b);
}

static char *make_transfer_label(const bd_rendezvous_key *key, size_t bytes)
{
    BD_STATUS(st);
    bd_rendezvous_parsed_key parsed;
    bd_strbuf b = {0};
    if (bd_rendezvous_key_parse(key->text, key->len, &parsed, st))
        bd_strbuf_appendf(&b, "[%zuB] %s", bytes, key->text);
    else
        bd_strbuf_appendf(&b, "[%zuB] %.*s from %.*s to %.*s", bytes, (int)parsed.edge_len, parsed.edge,
                          (int)parsed.src_device_len, parsed.src_device, (int)parsed.dst_device_len,
                          parsed.dst_device);
    return bd_strbuf_take(&b);
}

static uint32_t thread_number(void)
{
    static atomic_uint last;
    static _Thread_local uint32_t mine;
    if (!mine) mine = atomic_fetch_add(&last, 1) + 1;
    return mine;
}

static void add(bd_step_stats_collector *s, bd_node_stats item)
{
    item.start_micros = bd_wall_micros() - (bd_now_ns() - item.start_ns) / 1000;
    item.thread = thread_number();
    bd_mutex_lock(&s->mu);
    bd_array_push(&s->items, item);
    bd_mutex_unlock(&s->mu);
}

static bd_stats_output describe(int slot, const braid_tensor *t)
{
    return (bd_stats_output){.slot = slot,
                             .dtype = t->dtype,
                             .shape = t->shape,
                             .bytes = bd_tensor_bytes(t),
                             .ptr = t->data,
                             .is_new = t->buffer && bd_buffer_is_unique(t->buffer)};
}

void bd_step_stats_collector_add(bd_step_stats_collector *s, const char *device, const bd_op_ctx *ctx,
                                 int64_t start_ns, int64_t end_ns)
{
    bd_node_stats item = {.node = bd_strdup(ctx->node->name),
                          .label = make_label(ctx->node),
                          .device = device,
                          .start_ns = start_ns,
                          .end_ns = end_ns,
                          .outputs = bd_calloc((size_t)ctx->output_count, sizeof *item.outputs)};
    for (int i = 0; i < ctx->output_count; i++) {
        const braid_tensor *t = &ctx->outputs[i].tensor;
        if (bd_tensor_is_set(t)) item.outputs[item.output_count++] = describe(i, t);
    }
    add(s, item);
}

void bd_step_stats_collector_add_constant(bd_step_stats_collector *s, const char *device,
                                          const braid_op *node, const braid_tensor *value, int64_t now_ns)
{
    bd_node_stats item = {.node = bd_strdup(node->name),
                          .label = make_label(node),
                          .device = device,
                          .start_ns = now_ns,
                          .end_ns = now_ns,
                          .outputs = bd_calloc(1, sizeof *item.outputs),
                          .output_count = 1};
    item.outputs[0] = describe(0, value);
    add(s, item);
}

void bd_step_stats_collector_add_transfer(bd_step_stats_collector *s, const char *device,
                                          const bd_rendezvous_key *key, const braid_tensor *tensor,
                                          int64_t start_ns, int64_t end_ns)
{
    const bool is_set = bd_tensor_is_set(tensor); // a dead one is not
    bd_node_stats item = {.node = bd_strdup("RecvTensor"),
                          .label = make_transfer_label(key, is_set ? bd_tensor_bytes(tensor) : 0),
                          .device = device,
                          .start_ns = start_ns,
                          .end_ns = end_ns};
    if (is_set) {
        item.outputs = bd_calloc(1, sizeof *item.outputs);
        item.outputs[item.output_count++] = describe(0, tensor);
    }
    add(s, item);
}

bd_node_stats *bd_step_stats_collector_items(bd_step_stats_collector *s, int *count)
{
    bd_mutex_lock(&s->mu);
    *count = (int)s->items.len;
    bd_node_stats *items = bd_memdup(s->items.items, s->items.len * sizeof *items);
    bd_mutex_unlock(&s->mu);
    return items;
}
