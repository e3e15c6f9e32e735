// All-reduce of small tensors among three or more members: each sends its tensor to member 0, which merges
// all in the order of ranks and sends the result to each. That takes 2 (size - 1) tensors on their way in
// place of the size (size - 1) of a direct exchange.
//
// When members disagree about the shape, member 0 sends a string, which says how they do, in place of the
// result. The op does not accept strings as input.
#include "base/alloc.h"
#include "ops/common/element.h"
#include "ops/control_flow/collective_all_reduce.h"
#include "ops/control_flow/collective_member.h"
#include <string.h>

#define WHY_MAX 1000 // bytes of a peer's message

typedef struct rooted {
    bd_member base;
    bd_merge merge;
    bool divides;
    braid_tensor *values; // [base.size] of member 0
    braid_tensor out;
    bd_rendezvous_key *results; // [base.size] of member 0: where they are sent
} rooted;

static rooted *of(bd_member *m)
{
    return BD_CONTAINER_OF(m, rooted, base);
}

static void destroy(bd_member *m)
{
    rooted *r = of(m);
    for (int i = 0; i < m->size; i++) {
        if (r->values) bd_tensor_fini(&r->values[i]);
        if (r->results) bd_free((char *)r->results[i].text);
    }
    bd_free(r->values);
    bd_free(r->results);
    bd_tensor_fini(&r->out);
}

static void value_received(bd_member *m, int from, int what, braid_tensor *tensor, braid_status *st)
{
    (void)what, (void)st;
    bd_tensor_move(&of(m)->values[from], tensor);
}

static void result_received(bd_member *m, int from, int what, braid_tensor *tensor, braid_status *st)
{
    (void)from, (void)what, (void)st;
    bd_tensor_move(&of(m)->out, tensor);
}

static void joined(bd_member *m, const bd_collective_group *group, braid_status *st)
{
    rooted *r = of(m);
    if (m->rank > 0) {
        if (!bd_member_send(m, group, 0, "", &m->own, st))
            bd_member_receive(m, group, 0, " result", 0, result_received);
        return;
    }
    r->values = bd_calloc((size_t)m->size, sizeof *r->values);
    r->results = bd_calloc((size_t)m->size, sizeof *r->results);
    for (int i = 1; i < m->size; i++)
        r->results[i] = bd_member_key(m, group, 0, i, " result");
    for (int i = 1; i < m->size; i++)
        bd_member_receive(m, group, i, "", 0, value_received);
}

// ---- Member 0 ----

static braid_code compare_all(const rooted *r, braid_status *st)
{
    const bd_member *m = &r->base;
    for (int i = 1; i < m->size && !st->code; i++)
        bd_collective_compare_announced(&m->own, &r->values[i], i, st);
    return st->code;
}

static void merge(rooted *r)
{
    const bd_member *m = &r->base;
    const int64_t count = bd_tensor_count(&r->out);
    const void *before = m->own.data;
    for (int i = 1; i < m->size; i++, before = r->out.data)
        bd_collective_merge(r->merge, r->out.dtype, r->out.data, before, r->values[i].data, count);
    if (r->divides) bd_collective_divide(r->out.dtype, r->out.data, count, m->size);
}

static braid_code send_result(const rooted *r, const braid_tensor *result, braid_status *st)
{
    bd_rendezvous *to = r->base.rendezvous;
    for (int i = 1; i < r->base.size && !st->code; i++)
        to->ops->send(to, &r->results[i], result, false, st);
    return st->code;
}

static void tell_why(const rooted *r, const braid_status *why)
{
    BD_STATUS(st);
    braid_tensor text;
    if (bd_tensor_init(&text, BRAID_STRING, &BRAID_SCALAR, st)) return;
    bd_tensor_string_set(&text, 0, why->message, strlen(why->message));
    send_result(r, &text, st);
    bd_tensor_fini(&text);
}

static void finish_root(rooted *r)
{
    bd_member *m = &r->base;
    BD_STATUS(st);
    if (compare_all(r, st))
        tell_why(r, st);
    else if (!bd_tensor_init(&r->out, m->own.dtype, &m->own.shape, st))
        merge(r);
    if (!st->code && !send_result(r, &r->out, st))
        bd_output_set(m->c, 0, &r->out);
    else
        bd_op_fail_status(m->c, st);
}

// ---- The others ----

static void finish_other(rooted *r)
{
    bd_member *m = &r->base;
    if (r->out.dtype == BRAID_STRING && bd_tensor_count(&r->out) == 1) {
        const bd_string *why = bd_tensor_str(&r->out);
        bd_op_fail(m->c, BRAID_INVALID_ARGUMENT, "At member 0: %.*s", (int)bd_min((int64_t)why->len, WHY_MAX),
                   why->data ? why->data : "");
    } else if (bd_collective_check_alike(m->c, &m->own, &r->out, 0)) {
        bd_output_set(m->c, 0, &r->out);
    }
}

// ---- The op ----

static void finish(bd_member *m)
{
    if (m->rank == 0)
        finish_root(of(m));
    else
        finish_other(of(m));
}

void bd_collective_reduce_at_root(bd_op_ctx *c, const bd_all_reduce_options *o)
{
    static const bd_member_type type = {joined, finish, destroy};
    rooted *r = bd_calloc(1, sizeof *r);
    r->merge = o->merge;
    r->divides = o->divides;
    bd_member_start(
        c, &r->base, &type,
        &(bd_member_options){.group = o->group, .kind = BD_COLLECTIVE_REDUCTION, .own = bd_input(c, 0)});
}
