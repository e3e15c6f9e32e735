// Statistics of leaves as a resource and as a message.
#include "ops/tensor_forest/stats.h"

#include "ops/common/handle.h"
#include "proto/pack.h"
#include "tensorflow/contrib/tensor_forest/proto/fertile_stats.pb-c.h"
#include <stdlib.h>

static void destroy(bd_resource *r)
{
    bd_rf_stats *s = BD_CONTAINER_OF(r, bd_rf_stats, base);
    bd_rf_slots_free(&s->slots);
    bd_mutex_fini(&s->mu);
    bd_free(s);
}

const bd_resource_type bd_rf_stats_type = {.name = "FertileStatsResource", .destroy = destroy};

bd_rf_stats *bd_rf_input_stats(bd_op_ctx *c, int i)
{
    bd_resource *r = bd_input_resource(c, i, &bd_rf_stats_type);
    return r ? BD_CONTAINER_OF(r, bd_rf_stats, base) : NULL;
}

void bd_rf_slots_free(bd_imap *slots)
{
    size_t pos = 0;
    uint64_t node;
    void *slot;
    while (bd_imap_next(slots, &pos, &node, &slot))
        bd_rf_slot_free(slot);
    bd_imap_fini(slots);
}

braid_code bd_rf_slots_reset(bd_imap *slots, const bd_rf_params *p, int32_t node, int32_t depth,
                             braid_status *st)
{
    bd_rf_slot *slot;
    if (bd_rf_slot_new(&slot, p, depth, st)) return st->code;
    bd_rf_slot_free(bd_imap_put(slots, (uint64_t)node, slot));
    return BRAID_OK;
}

static braid_code read_slot(bd_imap *slots, const bd_rf_params *p,
                            const Tensorflow__Tensorforest__FertileSlot *m, braid_status *st)
{
    if (m->node_id < 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "There are statistics of node %d", m->node_id);
    if (bd_rf_slots_reset(slots, p, m->node_id, m->depth, st)) return st->code;
    return bd_rf_slot_read(bd_imap_get(slots, (uint64_t)m->node_id), m, st);
}

braid_code bd_rf_slots_read(bd_imap *slots, const bd_rf_params *p, const void *data, size_t len,
                            braid_status *st)
{
    BD_PROTO_ARENA(arena);
    BD_STATUS(why);
    const Tensorflow__Tensorforest__FertileStats *m =
        bd_proto_unpack(&tensorflow__tensorforest__fertile_stats__descriptor, data, len, arena, why);
    if (!m) return bd_fail(st, why->code, "Unable to parse stats config: %s", braid_status_message(why));
    braid_code code = BRAID_OK;
    for (size_t i = 0; !code && i < m->n_node_to_slot; i++)
        code = read_slot(slots, p, m->node_to_slot[i], st);
    if (!code && bd_imap_count(slots) == 0) code = bd_rf_slots_reset(slots, p, 0, 0, st);
    if (code) bd_rf_slots_free(slots);
    return code;
}

// ---- Writing ----

typedef struct slot_list {
    size_t count;
    bd_rf_slot_ref *refs; // by node
} slot_list;

static int compare_nodes(const void *a, const void *b)
{
    const int32_t x = ((const bd_rf_slot_ref *)a)->node, y = ((const bd_rf_slot_ref *)b)->node;
    return x < y ? -1 : x > y;
}

static void put_slots(bd_message_out *out, const void *arg)
{
    const slot_list *list = arg;
    for (size_t i = 0; i < list->count; i++)
        bd_emit_message(out, 1, bd_rf_put_slot, &list->refs[i]);
}

void bd_rf_slots_write(bd_op_ctx *c, const bd_imap *slots)
{
    const braid_tensor *y = bd_output(c, 0, BRAID_STRING, &BD_SCALAR);
    if (!y) return;
    slot_list list = {.refs = bd_malloc(sizeof *list.refs * (bd_imap_count(slots) + 1))};
    size_t pos = 0;
    uint64_t node;
    void *slot;
    while (bd_imap_next(slots, &pos, &node, &slot))
        list.refs[list.count++] = (bd_rf_slot_ref){(int32_t)node, slot};
    qsort(list.refs, list.count, sizeof *list.refs, compare_nodes);
    bd_output_message(c, y, 0, put_slots, &list);
    bd_free(list.refs);
}
