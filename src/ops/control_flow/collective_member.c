// The part of one member in an exchange of tensors with its group. States:
//
//   joining     waits for the group, and for the source of a broadcast
//   exchanging  the member's tensors are in the rendezvous for the other members; it receives theirs
//   ended       all tensors have arrived, or the exchange has failed: the node is done
//
// Tensors that arrive after the end are dropped, so the member lives until the last receive has ended
// (`refs`: one for the join, one for each receive).
#include "ops/control_flow/collective_member.h"
#include "base/alloc.h"
#include "base/slab.h"
#include "ops/common/element.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

braid_code bd_collective_state_read(const braid_op *node, bd_collective_state *s, braid_status *st)
{
    static const char *const names[] = {"group_size", "group_key", "instance_key"};
    int64_t values[3];
    for (int i = 0; i < 3; i++) {
        values[i] = bd_node_attr_int(node, names[i]);
        if (values[i] < INT32_MIN || values[i] > INT32_MAX)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s is out of range: %" PRId64, names[i], values[i]);
    }
    *s = (bd_collective_state){.group_size = (int32_t)values[0],
                               .group_key = (int32_t)values[1],
                               .instance_key = (int32_t)values[2]};
    if (s->group_size > 0) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "group_size must be positive integer but got %d",
                   s->group_size);
}

static void unref(bd_member *m)
{
    if (atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1) return;
    m->type->destroy(m);
    bd_tensor_fini(&m->own);
    bd_rendezvous_unref(m->rendezvous);
    bd_mutex_fini(&m->mu);
    bd_free(m);
}

static void fail(bd_member *m, const braid_status *st)
{
    bd_mutex_lock(&m->mu);
    const bool is_first = !m->is_over;
    m->is_over = true;
    bd_mutex_unlock(&m->mu);
    if (!is_first) return;
    if (st->code == BRAID_UNAVAILABLE || st->code == BRAID_ABORTED)
        m->collectives->forget(m->collectives, m->group_key);
    bd_op_fail_status(m->c, st);
    bd_op_done(m->c);
}

// One that was pending is not any more.
static void leave(bd_member *m)
{
    bd_mutex_lock(&m->mu);
    const bool is_whole = --m->pending == 0 && !m->is_over;
    if (is_whole) m->is_over = true;
    bd_mutex_unlock(&m->mu);
    if (!is_whole) return;
    m->type->finish(m);
    bd_op_done(m->c);
}

// ---- Sending and receiving ----

#define EDGE_MAX 160

bd_rendezvous_key bd_member_key(const bd_member *m, const bd_collective_group *group, int from, int to,
                                const char *suffix)
{
    char edge[EDGE_MAX];
    const size_t len = strlen(m->edge), suffix_len = strlen(suffix);
    BD_ASSERT(len + suffix_len < sizeof edge);
    memcpy(edge, m->edge, len);
    memcpy(edge + len, suffix, suffix_len + 1);
    return bd_collective_key(group, from, to, edge);
}

braid_code bd_member_send(const bd_member *m, const bd_collective_group *group, int to, const char *suffix,
                          const braid_tensor *tensor, braid_status *st)
{
    const bd_rendezvous_key key = bd_member_key(m, group, m->rank, to, suffix);
    m->rendezvous->ops->send(m->rendezvous, &key, tensor, false, st);
    bd_free((char *)key.text);
    return st->code;
}

typedef struct receiving {
    bd_member *m;
    int from, what;
    bd_member_fn fn;
} receiving;

static void received(void *arg, braid_tensor *tensor, bool is_dead, const braid_status *from)
{
    const receiving r = *(const receiving *)arg;
    bd_slab_free(arg);
    BD_STATUS(st);
    bd_status_copy(st, from);
    if (!st->code && is_dead)
        bd_fail(st, BRAID_INTERNAL, "Member %d of group %d has given a dead tensor", r.from, r.m->group_key);
    if (!st->code) r.fn(r.m, r.from, r.what, tensor, st);
    if (st->code) fail(r.m, st);
    leave(r.m);
    unref(r.m);
}

void bd_member_receive(bd_member *m, const bd_collective_group *group, int from, const char *suffix, int what,
                       bd_member_fn fn)
{
    receiving *r = bd_slab_alloc_raw(sizeof *r);
    *r = (receiving){m, from, what, fn};
    bd_mutex_lock(&m->mu);
    m->pending++;
    bd_mutex_unlock(&m->mu);
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    const bd_rendezvous_key key = bd_member_key(m, group, from, m->rank, suffix);
    m->rendezvous->ops->recv(m->rendezvous, &key, received, r);
    bd_free((char *)key.text);
}

// ---- Joining ----

static braid_code find_rank(bd_member *m, const bd_collective_group *group, braid_status *st)
{
    m->rank = -1;
    m->size = group->size;
    for (int i = 0; i < group->size; i++)
        if (strcmp(group->devices[i], m->device) == 0) m->rank = i;
    const bool is_there = m->rank >= 0;
    const bool has_source =
        m->kind != BD_COLLECTIVE_BROADCAST || (group->source >= 0 && group->source < group->size);
    if (is_there && has_source) return BRAID_OK;
    return bd_fail(st, BRAID_INTERNAL, is_there ? "Group %d has no source" : "Group %d lacks this device",
                   m->group_key);
}

static void joined(void *arg, const bd_collective_group *group, const braid_status *from)
{
    bd_member *m = arg;
    BD_STATUS(st);
    bd_status_copy(st, from);
    if (!st->code && !find_rank(m, group, st)) m->type->joined(m, group, st);
    if (st->code) fail(m, st);
    leave(m);
    unref(m);
}

static void init(bd_member *m, bd_op_ctx *c, const bd_member_type *type, const bd_member_options *o)
{
    m->type = type;
    m->c = c;
    m->rendezvous = bd_rendezvous_ref(c->step->rendezvous);
    m->collectives = c->step->collectives;
    m->group_key = o->group->group_key;
    m->kind = o->kind;
    m->device = c->node->assigned_device;
    m->pending = 1;
    snprintf(m->edge, sizeof m->edge, BD_COLLECTIVE_EDGE "%d:%d:%" PRIu64 ":%" PRId64, o->group->group_key,
             o->group->instance_key, c->frame_id, c->iteration);
    bd_mutex_init(&m->mu);
    atomic_init(&m->refs, 1);
}

static bool can_meet(bd_op_ctx *c)
{
    if (c->step->collectives && c->step->rendezvous && c->step->cancellation && c->node->assigned_device)
        return true;
    bd_op_fail(c, BRAID_UNIMPLEMENTED, "%s cannot meet other members here: it is not run by a session",
               c->node->op_type);
    bd_op_done(c);
    return false;
}

void bd_member_start(bd_op_ctx *c, bd_member *m, const bd_member_type *type, const bd_member_options *o)
{
    if (!can_meet(c)) {
        m->type = type;
        type->destroy(m);
        bd_free(m);
        return;
    }
    init(m, c, type, o);
    if (o->own && !bd_tensor_keep(&m->own, o->own)) {
        BD_STATUS(st);
        bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when copying what is given to the group");
        fail(m, st);
        unref(m);
        return;
    }
    const bd_collective_join join = {
        .name = c->node->name,
        .device = m->device,
        .device_type = "CPU",
        .group_key = o->group->group_key,
        .group_size = o->group->group_size,
        .instance_key = o->group->instance_key,
        .type = (int)o->kind,
        .dtype = (int)(c->node->output_types[0]),
        .is_source = o->is_source,
    };
    // `c` may be gone when this returns.
    c->step->collectives->join(c->step->collectives, &join, c->step->collective_leader, c->step->cancellation,
                               joined, m);
}
