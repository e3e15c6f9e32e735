// All-reduce as a direct reduce-scatter followed by a direct all-gather, in chunks.
//
// The elements are divided into `size` parts, and part r belongs to member r. Each member sends part r of its
// own tensor to member r, which merges the parts of all members in the order of ranks 0, 1, 2, ... and sends
// the result to all others. A member sends and receives 2 (size - 1) / size times the tensor's bytes, as in a
// ring. A ring is not used because it would merge each part in another order of members (beginning with the
// part's owner): the direct exchange gives the same bits as a sum in the fixed order of ranks, and has two
// steps instead of 2 (size - 1).
//
// A part is cut into chunks of CHUNK_BYTES, each of which is sent by itself: a chunk is merged, and its
// result sent on, as soon as it has come from all members, while the next ones are on their way.
//
// Each member first sends a shape to each other one under the edge's own name, where members with small
// tensors send their whole tensor. So members that disagree about the shape notice it instead of waiting for
// chunks that never come. An announcement has dtype uint8, which the op does not accept as input.
#include "ops/control_flow/collective_all_reduce.h"
#include "base/alloc.h"
#include "ops/common/element.h"
#include "ops/control_flow/collective_member.h"
#include <stdio.h>
#include <string.h>

#define CHUNK_BYTES (2 * 1024 * 1024)
// Parts begin at multiples of these elements, so that they are aligned like tensors.
#define PART_ALIGNMENT 64

typedef struct chunk {
    int64_t at, count; // elements
} chunk;

typedef struct all_reduce {
    bd_member base;
    bd_merge merge;
    bool divides;
    braid_tensor out;
    bd_collective_group group; // a copy
    int64_t part, step;        // elements of a part; of a chunk
    int chunks;                // of a part; those beyond the end of the tensor are empty
    braid_tensor *pieces;      // [chunks][size]: of this member's part, from each other member
    atomic_int *missing;       // [chunks]: pieces that have not arrived
    atomic_int *heard;         // [size]: of each other member, ANNOUNCED and UNLIKE
} all_reduce;

// A chunk may arrive before the announcement of its member's shape. When it is not as long as it should be,
// that announcement tells why.
enum {
    ANNOUNCED = 1, // a shape like this member's
    UNLIKE = 2     // a chunk of another length has come
};

static all_reduce *of(bd_member *m)
{
    return BD_CONTAINER_OF(m, all_reduce, base);
}

static void destroy(bd_member *m)
{
    all_reduce *a = of(m);
    for (int i = 0; a->pieces && i < a->chunks * a->group.size; i++)
        bd_tensor_fini(&a->pieces[i]);
    for (int i = 0; i < a->group.size; i++)
        bd_free((char *)a->group.devices[i]);
    bd_free((void *)a->group.devices);
    bd_free((void *)a->group.incarnations);
    bd_free(a->pieces);
    bd_free(a->missing);
    bd_free(a->heard);
    bd_tensor_fini(&a->out);
}

// ---- Parts and chunks ----

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static chunk chunk_of(const all_reduce *a, int rank, int k)
{
    const int64_t all = bd_tensor_count(&a->out);
    const int64_t from = least((int64_t)rank * a->part, all), to = least(from + a->part, all);
    const int64_t at = least(from + k * a->step, to);
    return (chunk){at, least(a->step, to - at)};
}

static void *elements(const braid_tensor *t, int64_t at)
{
    return (char *)t->data + (size_t)at * bd_element_size(t->dtype);
}

static void divide_into_chunks(all_reduce *a)
{
    const int64_t count = bd_tensor_count(&a->out), size = a->base.size;
    const int64_t part = (count + size - 1) / size;
    a->part = (part + PART_ALIGNMENT - 1) / PART_ALIGNMENT * PART_ALIGNMENT;
    a->step = CHUNK_BYTES / (int64_t)bd_element_size(a->out.dtype);
    a->chunks = (int)((a->part + a->step - 1) / a->step);
    a->pieces = bd_calloc((size_t)a->chunks * (size_t)size, sizeof *a->pieces);
    a->missing = bd_calloc((size_t)a->chunks, sizeof *a->missing);
    a->heard = bd_calloc((size_t)size, sizeof *a->heard);
    for (int k = 0; k < a->chunks; k++)
        atomic_init(&a->missing[k], (int)size - 1);
}

static void copy_group(all_reduce *a, const bd_collective_group *group)
{
    const char **devices = bd_calloc((size_t)group->size, sizeof *devices);
    for (int i = 0; i < group->size; i++)
        devices[i] = bd_strdup(group->devices[i]);
    a->group = *group;
    a->group.devices = devices;
    a->group.incarnations = bd_memdup(group->incarnations, (size_t)group->size * sizeof *group->incarnations);
}

// ---- Announcements ----

// The shape in bytes: its dimensions as int64.
static braid_code announce(const all_reduce *a, braid_status *st)
{
    const braid_shape *shape = &a->out.shape;
    const size_t len = (size_t)shape->rank * sizeof shape->dims[0];
    braid_tensor t;
    if (bd_tensor_init(&t, BRAID_UINT8, &BRAID_SHAPE((int64_t)len), st)) return st->code;
    if (len) memcpy(t.data, shape->dims, len);
    for (int to = 0; !st->code && to < a->base.size; to++)
        if (to != a->base.rank) bd_member_send(&a->base, &a->group, to, "", &t, st);
    bd_tensor_fini(&t);
    return st->code;
}

// What was sent under the edge's own name, as dtype and shape: of a member with a tensor of type `dtype`.
static braid_tensor described(const braid_tensor *sent, braid_dtype dtype)
{
    braid_tensor t = {.dtype = sent->dtype, .shape = sent->shape};
    if (sent->dtype != BRAID_UINT8) return t;
    const size_t len = bd_tensor_bytes(sent);
    const size_t rank = len / sizeof t.shape.dims[0];
    if (rank > BRAID_RANK_MAX) return t; // a peer that announces nonsense
    t.dtype = dtype;
    t.shape.rank = (int)rank;
    if (rank) memcpy(t.shape.dims, sent->data, rank * sizeof t.shape.dims[0]);
    return t;
}

braid_code bd_collective_compare_announced(const braid_tensor *own, const braid_tensor *sent, int rank,
                                           braid_status *st)
{
    const braid_tensor theirs = described(sent, own->dtype);
    return bd_collective_compare(own, &theirs, rank, st);
}

static void announced(bd_member *m, int from, int what, braid_tensor *tensor, braid_status *st)
{
    (void)what;
    const all_reduce *a = of(m);
    if (bd_collective_compare_announced(&a->out, tensor, from, st)) return;
    if (atomic_fetch_or(&a->heard[from], ANNOUNCED) & UNLIKE)
        bd_fail(st, BRAID_INTERNAL, "Member %d of the group has sent other elements than it has announced",
                from);
}

// ---- Chunks on their way ----

static const char *piece_name(char buf[32], int k)
{
    snprintf(buf, 32, " piece %d", k);
    return buf;
}

static const char *result_name(char buf[32], int k)
{
    snprintf(buf, 32, " result %d", k);
    return buf;
}

// Whether a peer has sent as many elements as a chunk has. If not, and it has announced as many, that is an
// error; else its announcement will be one.
static bool check_chunk(const all_reduce *a, const braid_tensor *t, const chunk *c, int from,
                        braid_status *st)
{
    if (t->dtype == a->out.dtype && bd_tensor_count(t) == c->count) return true;
    if (atomic_fetch_or(&a->heard[from], UNLIKE) & ANNOUNCED)
        bd_fail(st, BRAID_INTERNAL, "Member %d of the group has sent other elements than it has announced",
                from);
    return false;
}

static braid_code send_view(const all_reduce *a, const braid_tensor *t, const chunk *c, int to,
                            const char *name, braid_status *st)
{
    braid_tensor view;
    bd_tensor_view(&view, t, c->at, &BRAID_SHAPE(c->count));
    bd_member_send(&a->base, &a->group, to, name, &view, st);
    bd_tensor_fini(&view);
    return st->code;
}

// Merges chunk `k` of this member's part in the order of ranks.
static void merge_chunk(const all_reduce *a, const chunk *c, const braid_tensor *pieces)
{
    const braid_dtype dtype = a->out.dtype;
    void *z = elements(&a->out, c->at);
    const void *before = NULL;
    for (int i = 0; i < a->base.size; i++) {
        const void *x = i == a->base.rank ? elements(&a->base.own, c->at) : pieces[i].data;
        if (before) bd_collective_merge(a->merge, dtype, z, before, x, c->count);
        before = before ? z : x;
    }
    if (a->divides) bd_collective_divide(dtype, z, c->count, a->base.size);
}

static void finish_chunk(all_reduce *a, int k, braid_status *st)
{
    char name[32];
    const chunk c = chunk_of(a, a->base.rank, k);
    braid_tensor *pieces = &a->pieces[k * a->base.size];
    merge_chunk(a, &c, pieces);
    for (int i = 0; i < a->base.size; i++)
        bd_tensor_fini(&pieces[i]);
    for (int to = 0; !st->code && to < a->base.size; to++)
        if (to != a->base.rank) send_view(a, &a->out, &c, to, result_name(name, k), st);
}

static void piece_received(bd_member *m, int from, int k, braid_tensor *tensor, braid_status *st)
{
    all_reduce *a = of(m);
    const chunk c = chunk_of(a, m->rank, k);
    if (!check_chunk(a, tensor, &c, from, st)) return;
    bd_tensor_move(&a->pieces[k * m->size + from], tensor);
    if (atomic_fetch_sub_explicit(&a->missing[k], 1, memory_order_acq_rel) == 1) finish_chunk(a, k, st);
}

static void result_received(bd_member *m, int from, int k, braid_tensor *tensor, braid_status *st)
{
    const all_reduce *a = of(m);
    const chunk c = chunk_of(a, from, k);
    if (!check_chunk(a, tensor, &c, from, st)) return;
    memcpy(elements(&a->out, c.at), tensor->data, (size_t)c.count * bd_element_size(tensor->dtype));
}

static void send_pieces(const all_reduce *a, int k, braid_status *st)
{
    char name[32];
    for (int to = 0; !st->code && to < a->base.size; to++) {
        const chunk c = chunk_of(a, to, k);
        if (to != a->base.rank && c.count > 0) send_view(a, &a->base.own, &c, to, piece_name(name, k), st);
    }
}

static void receive_chunks(all_reduce *a, int k)
{
    char piece[32], result[32];
    bd_member *m = &a->base;
    for (int from = 0; from < m->size; from++) {
        if (from == m->rank) continue;
        if (chunk_of(a, m->rank, k).count > 0)
            bd_member_receive(m, &a->group, from, piece_name(piece, k), k, piece_received);
        if (chunk_of(a, from, k).count > 0)
            bd_member_receive(m, &a->group, from, result_name(result, k), k, result_received);
    }
}

// ---- The member ----

static void joined(bd_member *m, const bd_collective_group *group, braid_status *st)
{
    all_reduce *a = of(m);
    copy_group(a, group);
    divide_into_chunks(a);
    announce(a, st);
    for (int k = 0; !st->code && k < a->chunks; k++)
        send_pieces(a, k, st);
    if (st->code) return;
    for (int from = 0; from < m->size; from++)
        if (from != m->rank) bd_member_receive(m, &a->group, from, "", 0, announced);
    for (int k = 0; k < a->chunks; k++)
        receive_chunks(a, k);
}

static void finish(bd_member *m)
{
    bd_output_set(m->c, 0, &of(m)->out);
}

void bd_collective_all_reduce(bd_op_ctx *c, const bd_all_reduce_options *o)
{
    static const bd_member_type type = {joined, finish, destroy};
    const braid_tensor *x = bd_input(c, 0);
    BD_STATUS(st);
    all_reduce *a = bd_calloc(1, sizeof *a);
    a->merge = o->merge;
    a->divides = o->divides;
    if (bd_tensor_init(&a->out, x->dtype, &x->shape, st)) {
        bd_free(a);
        bd_op_fail_status(c, st);
        bd_op_done(c);
        return;
    }
    bd_member_start(c, &a->base, &type,
                    &(bd_member_options){.group = o->group, .kind = BD_COLLECTIVE_REDUCTION, .own = x});
}
