// Transfers of variables: built at the serving process, applied at the standby.
#include "cluster/replication/transfer.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "braid/cluster.pb-c.h"
#include "proto/pack.h"
#include "tensor/tensor_proto.h"
#include <string.h>

// The fields of ReplicaTransfer and ReplicatedVariable, whose tensors do not go through protobuf-c.
enum {
    IS_FULL = 1,
    IS_COMPLETE = 2,
    VARIABLE = 3,
    DONE = 4,
    CONTAINER = 1,
    NAME = 2,
    IS_REFERENCE = 3,
    TENSOR = 4,
    OWNER = 5
};
#define NAME_LEN_MAX (1 << 16)

// ---- Building ----

typedef struct found {
    bd_variable *variable; // a reference
    char *container, *name;
    const char *owner; // of the table, which outlives it; NULL: the tasks
} found;

static void found_fini(found *f)
{
    bd_free(f->container);
    bd_free(f->name);
}

typedef struct search {
    BD_ARRAY(found) found;
    bool is_full;
    size_t copied; // variables that the standby has
} search;

static void consider(void *arg, const char *container, const char *name, bd_resource *r)
{
    search *s = arg;
    bd_variable *v = BD_CONTAINER_OF(r, bd_variable, base);
    if (bd_str_starts_with(container, BD_STEP_CONTAINER_PREFIX) || v->dtype == BRAID_VARIANT) return;
    const bool is_changed = atomic_exchange_explicit(&v->is_changed, false, memory_order_acq_rel);
    s->copied += v->is_copied;
    if (!is_changed && !s->is_full) return;
    bd_resource_ref(r);
    bd_array_push(&s->found, (found){v, bd_strdup(container), bd_strdup(name), r->owner});
}

static void find(search *s, bd_resources *rs)
{
    bd_resources_each(rs, &bd_variable_type, consider, s);
    bd_resources_each(rs, &bd_ref_variable_type, consider, s);
}

static void put_variable(const found *f, const braid_tensor *tensor, bd_wire_writer *out)
{
    bd_message m;
    bd_wire_writer w;
    bd_message_init(&m);
    bd_wire_writer_init(&w, &m);
    bd_wire_put_bytes(&w, CONTAINER, f->container, strlen(f->container));
    bd_wire_put_bytes(&w, NAME, f->name, strlen(f->name));
    bd_wire_put_uint(&w, IS_REFERENCE, f->variable->is_reference);
    bd_tensor_proto_put(tensor, TENSOR, &w);
    if (f->owner) bd_wire_put_bytes(&w, OWNER, f->owner, strlen(f->owner));
    bd_wire_writer_finish(&w);
    bd_wire_put_message(out, VARIABLE, &m);
    bd_message_fini(&m);
}

static braid_code put_found(const found *f, bd_wire_writer *out, size_t *copied, braid_status *st)
{
    braid_tensor tensor = {0};
    bd_variable *v = f->variable;
    if (bd_variable_copy(v, &tensor, st)) return st->code;
    if (bd_tensor_is_set(&tensor)) {
        put_variable(f, &tensor, out);
        *copied += !v->is_copied;
        v->is_copied = true;
        bd_tensor_fini(&tensor);
    }
    return BRAID_OK;
}

static void put_done(bd_membership *membership, bd_wire_writer *out)
{
    bd_done_notice *done;
    const int count = bd_membership_done_tasks(membership, &done);
    for (int i = 0; i < count; i++) {
        Braid__NotifyDoneRequest task = BRAID__NOTIFY_DONE_REQUEST__INIT;
        task.job = (char *)done[i].job;
        task.task = done[i].task;
        task.incarnation = done[i].incarnation;
        task.only_serves = done[i].only_serves;
        bd_proto_put(&task.base, DONE, out);
    }
    bd_free(done);
}

braid_code bd_transfer_build(bd_transfer *t, const bd_replicated *from, bool is_full, bool is_complete,
                             size_t *copied, braid_status *st)
{
    *t = (bd_transfer){0};
    bd_message_init(&t->message);
    search s = {.is_full = is_full};
    find(&s, from->resources);
    if (s.copied < *copied && !is_full) {
        s.is_full = true;
        s.copied = 0;
        for (size_t i = 0; i < s.found.len; i++) {
            bd_resource_unref(&s.found.items[i].variable->base);
            found_fini(&s.found.items[i]);
        }
        s.found.len = 0;
        find(&s, from->resources);
    }
    t->is_full = s.is_full;
    bd_wire_writer out;
    bd_wire_writer_init(&out, &t->message);
    bd_wire_put_uint(&out, IS_FULL, s.is_full);
    bd_wire_put_uint(&out, IS_COMPLETE, is_complete);
    for (size_t i = 0; i < s.found.len; i++) {
        found *f = &s.found.items[i];
        if (!st->code) put_found(f, &out, &s.copied, st);
        bd_array_push(&t->variables, f->variable);
        found_fini(f);
    }
    put_done(from->membership, &out);
    bd_wire_writer_finish(&out);
    bd_array_free(&s.found);
    *copied = s.copied;
    return st->code;
}

void bd_transfer_return(bd_transfer *t)
{
    for (size_t i = 0; i < t->variables.len; i++)
        bd_variable_mark_changed(t->variables.items[i]);
}

void bd_transfer_fini(bd_transfer *t)
{
    for (size_t i = 0; i < t->variables.len; i++)
        bd_resource_unref(&t->variables.items[i]->base);
    bd_array_free(&t->variables);
    bd_message_fini(&t->message);
}

// ---- Applying ----

typedef struct received {
    char *container, *name, *owner; // owner NULL: the tasks
    bool is_reference;
    braid_tensor tensor;
} received;

static void received_fini(received *v)
{
    bd_free(v->container);
    bd_free(v->name);
    bd_free(v->owner);
    bd_tensor_fini(&v->tensor);
}

static braid_code read_variable(bd_wire_reader in, received *v, braid_status *st)
{
    uint32_t field;
    bd_wire_type type;
    bd_wire_reader sub;
    uint64_t value = 0;
    size_t len;
    while (!st->code && bd_wire_next(&in, &field, &type)) {
        if (field == CONTAINER && type == BD_WIRE_BYTES && !v->container)
            v->container = bd_wire_get_string(&in, NAME_LEN_MAX, &len);
        else if (field == NAME && type == BD_WIRE_BYTES && !v->name)
            v->name = bd_wire_get_string(&in, NAME_LEN_MAX, &len);
        else if (field == OWNER && type == BD_WIRE_BYTES && !v->owner)
            v->owner = bd_wire_get_string(&in, NAME_LEN_MAX, &len);
        else if (field == IS_REFERENCE && type == BD_WIRE_VARINT)
            v->is_reference = bd_wire_get_varint(&in, &value) && value;
        else if (field == TENSOR && type == BD_WIRE_BYTES && !v->tensor.dtype && bd_wire_get_sub(&in, &sub))
            bd_tensor_proto_read(&sub, &v->tensor, st);
        else
            bd_wire_skip(&in, type);
    }
    if (!st->code && (in.failed || !v->container || !v->name || !bd_tensor_is_set(&v->tensor)))
        bd_fail(st, BRAID_INVALID_ARGUMENT, "Transfer: a variable is malformed");
    return st->code;
}

static braid_code create(void *arg, bd_resource **out, braid_status *st)
{
    (void)st;
    const received *v = arg;
    *out = &bd_variable_new(v->tensor.dtype, v->is_reference)->base;
    return BRAID_OK;
}

static braid_code store(received *v, bd_resources *rs, braid_status *st)
{
    bd_resource *r;
    bd_resources *view = bd_resources_view(rs, v->owner);
    const bd_resource_spec spec = {.container = v->container,
                                   .name = v->name,
                                   .type = v->is_reference ? &bd_ref_variable_type : &bd_variable_type,
                                   .create = create,
                                   .arg = v};
    if (!bd_resources_lookup_or_create(view, &spec, &r, st)) {
        bd_variable_assign(BD_CONTAINER_OF(r, bd_variable, base), &v->tensor, st);
        bd_resource_unref(r);
    }
    bd_resources_unref(view);
    return st->code;
}

static braid_code apply_variable(bd_wire_reader in, bd_resources *rs, braid_status *st)
{
    received v = {0};
    if (!read_variable(in, &v, st)) store(&v, rs, st);
    received_fini(&v);
    return st->code;
}

static braid_code apply_done(bd_wire_reader in, bd_membership *membership, braid_status *st)
{
    BD_PROTO_ARENA(arena);
    uint8_t bytes[512];
    const size_t len = in.left;
    if (len > sizeof bytes || !bd_wire_get_raw(&in, bytes, len))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Transfer: the name of a task is malformed");
    const Braid__NotifyDoneRequest *task =
        bd_proto_unpack(&braid__notify_done_request__descriptor, bytes, len, arena, st);
    if (!task) return st->code;
    const bd_done_notice notice = {task->job, task->task, task->incarnation, task->only_serves};
    return bd_membership_done(membership, &notice, st);
}

braid_code bd_transfer_apply(const bd_message *message, const bd_replicated *to, bool *is_complete,
                             braid_status *st)
{
    bd_wire_reader in = bd_wire_reader_of(message), sub;
    uint32_t field;
    bd_wire_type type;
    uint64_t value = 0;
    *is_complete = false;
    while (!st->code && bd_wire_next(&in, &field, &type)) {
        if (field == IS_FULL && type == BD_WIRE_VARINT) {
            if (bd_wire_get_varint(&in, &value) && value) bd_resources_clear(to->resources, NULL);
        } else if (field == IS_COMPLETE && type == BD_WIRE_VARINT) {
            *is_complete = bd_wire_get_varint(&in, &value) && value;
        } else if (field == VARIABLE && type == BD_WIRE_BYTES) {
            if (bd_wire_get_sub(&in, &sub)) apply_variable(sub, to->resources, st);
        } else if (field == DONE && type == BD_WIRE_BYTES) {
            if (bd_wire_get_sub(&in, &sub)) apply_done(sub, to->membership, st);
        } else {
            bd_wire_skip(&in, type);
        }
    }
    if (!st->code && in.failed) bd_fail(st, BRAID_INVALID_ARGUMENT, "Transfer: the message is malformed");
    return st->code;
}
