// Collecting what a traced step did.
#include "runtime/stats.h"

#include "base/strbuf.h"
#include "base/thread.h"

struct bd_step_stats {
    bd_mutex mu;
    BD_ARRAY(bd_node_stats) items; // guarded by mu
};

bd_step_stats *bd_step_stats_new(void)
{
    bd_step_stats *s = bd_calloc(1, sizeof *s);
    bd_mutex_init(&s->mu);
    return s;
}

void bd_step_stats_free(bd_step_stats *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->items.len; i++) {
        bd_free(s->items.items[i].node);
        bd_free(s->items.items[i].label);
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

static uint32_t thread_number(void)
{
    static atomic_uint last;
    static _Thread_local uint32_t mine;
    if (!mine) mine = atomic_fetch_add(&last, 1) + 1;
    return mine;
}

void bd_step_stats_add(bd_step_stats *s, const char *device, const braid_op *node, int64_t start_ns,
                       int64_t end_ns)
{
    bd_node_stats item = {.node = bd_strdup(node->name),
                          .label = make_label(node),
                          .device = device,
                          .start_micros = bd_wall_micros() - (bd_now_ns() - start_ns) / 1000,
                          .start_ns = start_ns,
                          .end_ns = end_ns,
                          .thread = thread_number()};
    bd_mutex_lock(&s->mu);
    bd_array_push(&s->items, item);
    bd_mutex_unlock(&s->mu);
}

const bd_node_stats *bd_step_stats_items(const bd_step_stats *s, int *count)
{
    *count = (int)s->items.len;
    return s->items.items;
}
