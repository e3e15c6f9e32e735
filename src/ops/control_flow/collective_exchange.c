// The part of one member in an exchange of tensors with its group. States:
//
//   joining     waits for the group, and for the source of a broadcast
//   exchanging  the member's tensor is in the rendezvous for each other member; it receives theirs
//   ended       all tensors have arrived, or the exchange has failed: the node is done
//
// Tensors that arrive after the end are dropped, so the exchange lives until the last receive has ended
// (`refs`: one for the join, one for each receive).
#include "base/alloc.h"
#include "base/slab.h"
#include "base/thread.h"
#include "ops/common/element.h"
#include "ops/control_flow/collective.h"
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

typedef struct exchange {
    bd_op_ctx *c;              // the execution's, until the end
    bd_rendezvous *rendezvous; // a reference
    bd_collectives *collectives;
    int32_t group_key;
    bd_collective_type type;
    braid_tensor own; // "no tensor" when this member sends none
    void (*done)(bd_op_ctx *c, const bd_exchanged *result);
    const char *device; // of the node
    char edge[96];
    int size, rank;
    braid_tensor *values; // [size]
    bd_mutex mu;
    int pending;  // receives, plus one of the thread that starts them; guarded by mu
    bool is_over; // guarded by mu
    atomic_int refs;
} exchange;

typedef struct receiving {
    exchange *x;
    int from;
} receiving;

static void unref(exchange *x)
{
    if (atomic_fetch_sub_explicit(&x->refs, 1, memory_order_acq_rel) != 1) return;
    for (int i = 0; i < x->size; i++)
        bd_tensor_fini(&x->values[i]);
    bd_free(x->values);
    bd_tensor_fini(&x->own);
    bd_rendezvous_unref(x->rendezvous);
    bd_mutex_fini(&x->mu);
    bd_free(x);
}

static void fail(exchange *x, const braid_status *st)
{
    bd_mutex_lock(&x->mu);
    const bool is_first = !x->is_over;
    x->is_over = true;
    bd_mutex_unlock(&x->mu);
    if (!is_first) return;
    if (st->code == BRAID_UNAVAILABLE || st->code == BRAID_ABORTED)
        x->collectives->forget(x->collectives, x->group_key);
    bd_op_fail_status(x->c, st);
    bd_op_done(x->c);
}

// One that was pending is not any more.
static void leave(exchange *x)
{
    bd_mutex_lock(&x->mu);
    const bool is_whole = --x->pending == 0 && !x->is_over;
    if (is_whole) x->is_over = true;
    bd_mutex_unlock(&x->mu);
    if (!is_whole) return;
    x->done(x->c, &(bd_exchanged){x->values, x->size, x->rank});
    bd_op_done(x->c);
}

static void received(void *arg, braid_tensor *tensor, bool is_dead, const braid_status *st)
{
    const receiving r = *(const receiving *)arg;
    bd_slab_free(arg);
    BD_STATUS(dead);
    if (!st->code && is_dead) {
        bd_fail(dead, BRAID_INTERNAL, "Member %d of group %d has given a dead tensor", r.from,
                r.x->group_key);
        st = dead;
    }
    if (st->code)
        fail(r.x, st);
    else
        bd_tensor_move(&r.x->values[r.from], tensor);
    leave(r.x);
    unref(r.x);
}

static void receive(exchange *x, const bd_collective_group *group, int from)
{
    receiving *r = bd_slab_alloc_raw(sizeof *r);
    *r = (receiving){x, from};
    bd_mutex_lock(&x->mu);
    x->pending++;
    bd_mutex_unlock(&x->mu);
    atomic_fetch_add_explicit(&x->refs, 1, memory_order_relaxed);
    const bd_rendezvous_key key = bd_collective_key(group, from, x->rank, x->edge);
    x->rendezvous->ops->recv(x->rendezvous, &key, received, r);
    bd_free((char *)key.text);
}

static braid_code send_all(const exchange *x, const bd_collective_group *group, braid_status *st)
{
    for (int to = 0; !st->code && to < group->size; to++) {
        if (to == x->rank) continue;
        const bd_rendezvous_key key = bd_collective_key(group, x->rank, to, x->edge);
        x->rendezvous->ops->send(x->rendezvous, &key, &x->own, false, st);
        bd_free((char *)key.text);
    }
    return st->code;
}

static braid_code find_rank(exchange *x, const bd_collective_group *group, braid_status *st)
{
    x->rank = -1;
    for (int i = 0; i < group->size; i++)
        if (strcmp(group->devices[i], x->device) == 0) x->rank = i;
    const bool is_there = x->rank >= 0;
    const bool has_source =
        x->type != BD_COLLECTIVE_BROADCAST || (group->source >= 0 && group->source < group->size);
    if (is_there && has_source) return BRAID_OK;
    return bd_fail(st, BRAID_INTERNAL, is_there ? "Group %d has no source" : "Group %d lacks this device",
                   x->group_key);
}

static void joined(void *arg, const bd_collective_group *group, const braid_status *from)
{
    exchange *x = arg;
    BD_STATUS(st);
    bd_status_copy(st, from);
    if (!st->code) find_rank(x, group, st);
    if (!st->code) {
        x->size = group->size;
        x->values = bd_calloc((size_t)x->size, sizeof *x->values);
        if (bd_tensor_is_set(&x->own)) {
            bd_tensor_ref(&x->values[x->rank], &x->own);
            send_all(x, group, st);
        }
    }
    if (st->code) {
        fail(x, st);
    } else {
        for (int i = 0; i < group->size; i++)
            if (i != x->rank && (x->type == BD_COLLECTIVE_BROADCAST ? i == group->source : true) &&
                !(x->type == BD_COLLECTIVE_BROADCAST && bd_tensor_is_set(&x->own)))
                receive(x, group, i);
        leave(x);
    }
    unref(x);
}

static exchange *exchange_new(bd_op_ctx *c, const bd_exchange_options *o)
{
    exchange *x = bd_calloc(1, sizeof *x);
    x->c = c;
    x->rendezvous = bd_rendezvous_ref(c->step->rendezvous);
    x->collectives = c->step->collectives;
    x->group_key = o->group->group_key;
    x->type = o->type;
    x->done = o->done;
    x->device = c->node->assigned_device;
    x->pending = 1;
    snprintf(x->edge, sizeof x->edge, "collective %d:%d:%" PRIu64 ":%" PRId64, o->group->group_key,
             o->group->instance_key, c->frame_id, c->iteration);
    bd_mutex_init(&x->mu);
    atomic_init(&x->refs, 1);
    return x;
}

void bd_collective_exchange(bd_op_ctx *c, const bd_exchange_options *o)
{
    if (!c->step->collectives || !c->step->rendezvous || !c->step->cancellation ||
        !c->node->assigned_device) {
        bd_op_fail(c, BRAID_UNIMPLEMENTED, "%s cannot meet other members here: it is not run by a session",
                   c->node->op_type);
        bd_op_done(c);
        return;
    }
    exchange *x = exchange_new(c, o);
    if (o->own && !bd_tensor_keep(&x->own, o->own)) {
        BD_STATUS(st);
        bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when copying what is given to the group");
        fail(x, st);
        unref(x);
        return;
    }
    const bd_collective_join join = {
        .name = c->node->name,
        .device = x->device,
        .device_type = "CPU",
        .group_key = o->group->group_key,
        .group_size = o->group->group_size,
        .instance_key = o->group->instance_key,
        .type = (int)o->type,
        .dtype = (int)(c->node->output_types[0]),
        .is_source = o->is_source,
    };
    // `c` may be gone when this returns.
    c->step->collectives->join(c->step->collectives, &join, c->step->collective_leader, c->step->cancellation,
                               joined, x);
}
