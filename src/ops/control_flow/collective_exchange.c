// The direct exchange: each member sends its whole tensor to each other member, under one key a pair.
//
// All members of a broadcast hear from each other, but for the source, that they have begun. Otherwise a
// leader could end its step before another member asks for the step's id, and that one would wait in the next
// step.
#include "base/alloc.h"
#include "ops/control_flow/collective_member.h"

typedef struct exchange {
    bd_member base;
    void (*done)(bd_op_ctx *c, const bd_exchanged *result);
    braid_tensor *values; // [base.size]
} exchange;

static exchange *of(bd_member *m)
{
    return BD_CONTAINER_OF(m, exchange, base);
}

static void destroy(bd_member *m)
{
    for (int i = 0; i < m->size; i++)
        if (of(m)->values) bd_tensor_fini(&of(m)->values[i]);
    bd_free(of(m)->values);
}

static void finish(bd_member *m)
{
    of(m)->done(m->c, &(bd_exchanged){of(m)->values, m->size, m->rank});
}

static void received(bd_member *m, int from, int what, braid_tensor *tensor, braid_status *st)
{
    (void)what, (void)st;
    bd_tensor_move(&of(m)->values[from], tensor);
}

#define BEGUN "/begun"

static void has_begun(bd_member *m, int from, int what, braid_tensor *tensor, braid_status *st)
{
    (void)m, (void)from, (void)what, (void)tensor, (void)st;
}

static void say_begun(bd_member *m, const bd_collective_group *group, int to, braid_status *st)
{
    braid_tensor nothing = {0};
    const braid_shape empty = {.rank = 1};
    if (bd_tensor_init(&nothing, BRAID_BOOL, &empty, st) == BRAID_OK)
        bd_member_send(m, group, to, BEGUN, &nothing, st);
    bd_tensor_fini(&nothing);
}

// The part of a broadcast that keeps members from ending before all have begun.
static void meet(bd_member *m, const bd_collective_group *group, braid_status *st)
{
    for (int i = 0; !st->code && i < m->size; i++) {
        if (i == m->rank) continue;
        if (m->rank != group->source) say_begun(m, group, i, st);
        if (!st->code && i != group->source) bd_member_receive(m, group, i, BEGUN, 0, has_begun);
    }
}

// Whether this member gets a tensor of member `from`.
static bool hears(const bd_member *m, const bd_collective_group *group, int from)
{
    if (from == m->rank) return false;
    return m->kind != BD_COLLECTIVE_BROADCAST || (from == group->source && !bd_tensor_is_set(&m->own));
}

static void joined(bd_member *m, const bd_collective_group *group, braid_status *st)
{
    of(m)->values = bd_calloc((size_t)m->size, sizeof(braid_tensor));
    if (bd_tensor_is_set(&m->own)) {
        bd_tensor_ref(&of(m)->values[m->rank], &m->own);
        for (int to = 0; !st->code && to < m->size; to++)
            if (to != m->rank) bd_member_send(m, group, to, "", &m->own, st);
    }
    if (!st->code && m->kind == BD_COLLECTIVE_BROADCAST) meet(m, group, st);
    for (int i = 0; !st->code && i < m->size; i++)
        if (hears(m, group, i)) bd_member_receive(m, group, i, "", 0, received);
}

void bd_collective_exchange(bd_op_ctx *c, const bd_exchange_options *o)
{
    static const bd_member_type type = {joined, finish, destroy};
    exchange *x = bd_calloc(1, sizeof *x);
    x->done = o->done;
    bd_member_start(
        c, &x->base, &type,
        &(bd_member_options){.group = o->group, .kind = o->type, .is_source = o->is_source, .own = o->own});
}
