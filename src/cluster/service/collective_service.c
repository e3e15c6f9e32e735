// WorkerService's calls for collectives: the leader resolves groups, and a member's tensor is fetched.
#include "base/alloc.h"
#include "cluster/rpc/server_call.h"
#include "cluster/rpc/wire_fields.h"
#include "cluster/service/services.h"
#include "cluster/service/worker_service.h"
#include "cluster/worker/collectives.h"
#include "proto/pack.h"
#include "tensor/tensor.h"
#include "tensorflow/core/protobuf/transport_options.pb-c.h"
#include "tensorflow/core/protobuf/worker.pb-c.h"
#include <string.h>

// The node's name in messages if the caller has not given it.
#define NO_NAME "(no name)"

typedef struct join_call {
    bd_server_call base;
    bd_proto_arena arena;
    const Tensorflow__CompleteGroupRequest *group; // in the arena; one of the two
    const Tensorflow__CompleteInstanceRequest *instance;
} join_call;

static void free_join(bd_server_call *base)
{
    join_call *c = BD_CONTAINER_OF(base, join_call, base);
    bd_proto_arena_fini(&c->arena);
    bd_free(c);
}

static join_call *begin_join(bd_service_env *env, bd_incoming *call)
{
    join_call *c = bd_calloc(1, sizeof *c);
    bd_server_call_init(&c->base, call, env->cancellation, env->cancellation, free_join);
    return c;
}

// ---- CompleteGroup ----

static int count_tasks(const bd_collective_group *g)
{
    int count = 0;
    for (int i = 0; i < g->size; i++) {
        const size_t len = bd_task_name_len(g->devices[i], strlen(g->devices[i]));
        bool is_new = true;
        for (int k = 0; k < i && is_new; k++)
            is_new = bd_task_name_len(g->devices[k], strlen(g->devices[k])) != len ||
                     strncmp(g->devices[k], g->devices[i], len) != 0;
        count += is_new;
    }
    return count;
}

static void group_complete(void *arg, const bd_collective_group *g, const braid_status *st)
{
    join_call *c = arg;
    if (st->code) {
        bd_server_call_reply_error(&c->base, st);
        return;
    }
    Tensorflow__CompleteGroupResponse response = TENSORFLOW__COMPLETE_GROUP_RESPONSE__INIT;
    response.group_key = c->group->group_key;
    response.group_size = g->size;
    response.device_type = c->group->device_type;
    response.num_tasks = count_tasks(g);
    bd_message message;
    bd_message_init(&message);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &message);
    bd_proto_pack(&response.base, &writer);
    for (int i = 0; i < g->size; i++) {
        const size_t len = strlen(g->devices[i]);
        bd_wire_put_bytes(&writer, 5, g->devices[i], len);                                  // device_name
        bd_wire_put_bytes(&writer, 6, g->devices[i], bd_task_name_len(g->devices[i], len)); // task_name
    }
    for (int i = 0; i < g->size; i++)
        bd_wire_put_fixed64(&writer, BD_COMPLETE_GROUP_INCARNATIONS, g->incarnations[i]);
    bd_wire_writer_finish(&writer);
    bd_server_call_reply(&c->base, &message);
}

// A field that callers of Braid add to TensorFlow's; 0: not set.
static uint64_t number_in(const bd_message *request, uint32_t number_field)
{
    bd_wire_reader in = bd_wire_reader_of(request);
    uint32_t field;
    bd_wire_type type;
    uint64_t number = 0;
    while (bd_wire_next(&in, &field, &type)) {
        if (field == number_field && type == BD_WIRE_FIXED64)
            bd_wire_get_fixed64(&in, &number);
        else
            bd_wire_skip(&in, type);
    }
    return number;
}

void bd_serve_complete_group(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    join_call *c = begin_join(env, call);
    const Tensorflow__CompleteGroupRequest *r = c->group = bd_proto_unpack_message(
        &tensorflow__complete_group_request__descriptor, &call->request, &c->arena, st);
    const uint64_t incarnation = number_in(&call->request, BD_COMPLETE_GROUP_INCARNATION);
    if (r && r->n_device_name != 1)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "CompleteGroup: one device joins at a time, not %zu",
                r->n_device_name);
    if (!r || st->code) {
        bd_server_call_reply_error(&c->base, st);
        return;
    }
    const bd_collective_join join = {
        .name = NO_NAME,
        .device = r->device_name[0],
        .device_type = r->device_type,
        .incarnation = incarnation,
        .group_key = r->group_key,
        .group_size = r->group_size,
        .type = -1,
    };
    bd_collective_groups_join(bd_task_collectives_groups(env->collectives), &join, c->base.cancellation,
                              group_complete, c);
}

// ---- CompleteInstance ----

static void instance_complete(void *arg, const bd_collective_group *g, const braid_status *st)
{
    join_call *c = arg;
    if (st->code) {
        bd_server_call_reply_error(&c->base, st);
        return;
    }
    Tensorflow__CompleteInstanceResponse response = TENSORFLOW__COMPLETE_INSTANCE_RESPONSE__INIT;
    response.instance_key = c->instance->instance_key;
    response.source_rank = g->source;
    bd_server_call_reply_proto(&c->base, &response.base);
}

void bd_serve_complete_instance(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    join_call *c = begin_join(env, call);
    const Tensorflow__CompleteInstanceRequest *r = c->instance = bd_proto_unpack_message(
        &tensorflow__complete_instance_request__descriptor, &call->request, &c->arena, st);
    if (r && r->type < 0)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "CompleteInstance: %d is no type of collective", r->type);
    if (!r || st->code) {
        bd_server_call_reply_error(&c->base, st);
        return;
    }
    const bd_collective_join join = {
        .name = r->name[0] ? r->name : NO_NAME,
        .device = r->device,
        .device_type = r->device_type,
        .group_key = r->group_key,
        .group_size = r->group_size,
        .instance_key = r->instance_key,
        .type = r->type,
        .dtype = (int)r->data_type,
        .is_source = r->is_source,
    };
    bd_collective_groups_join(bd_task_collectives_groups(env->collectives), &join, c->base.cancellation,
                              instance_complete, c);
}

// ---- GetStepSequence ----

void bd_serve_get_step_sequence(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Tensorflow__GetStepSequenceRequest *r = bd_proto_unpack_message(
        &tensorflow__get_step_sequence_request__descriptor, &call->request, arena, st);
    bd_message message;
    bd_message_init(&message);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &message);
    const uint64_t told = number_in(&call->request, BD_GET_STEP_SEQUENCE_AFTER);
    const int64_t after = told <= INT64_MAX ? (int64_t)told : 0;
    for (size_t i = 0; r && !st->code && i < r->n_graph_key; i++) {
        Tensorflow__StepSequence sequence = TENSORFLOW__STEP_SEQUENCE__INIT;
        sequence.graph_key = r->graph_key[i];
        bd_task_collectives_next_step(env->collectives, r->graph_key[i], after, &sequence.next_step_id, st);
        bd_proto_put(&sequence.base, 1, &writer);
    }
    bd_wire_writer_finish(&writer);
    bd_incoming_reply(call, &message, st);
}

// ---- RecvBuf ----

typedef struct recv_call {
    bd_incoming *call;
    int64_t num_bytes;
} recv_call;

static void unref_buffer(void *owner)
{
    bd_buffer_unref(owner);
}

// RecvBufRespExtra, which TensorFlow's gRPC carries the bytes in, as the Any of transport_options.
static void write_bytes(const braid_tensor *t, size_t bytes, bd_message *out)
{
    static const char type_url[] = "type.googleapis.com/tensorflow.RecvBufRespExtra";
    bd_message extra, any;
    bd_message_init(&extra);
    bd_message_init(&any);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &extra);
    bd_wire_put_tag(&writer, 1, BD_WIRE_BYTES); // tensor_content, by reference
    bd_wire_put_varint(&writer, bytes);
    if (bytes)
        bd_wire_put_ref(&writer, (bd_slice){.data = t->data,
                                            .len = bytes,
                                            .release = unref_buffer,
                                            .owner = bd_buffer_ref(t->buffer)});
    bd_wire_writer_finish(&writer);
    bd_wire_writer_init(&writer, &any);
    bd_wire_put_bytes(&writer, 1, type_url, strlen(type_url));
    bd_wire_put_message(&writer, 2, &extra);
    bd_wire_writer_finish(&writer);
    bd_wire_writer_init(&writer, out);
    bd_wire_put_uint(&writer, 2, bytes); // num_bytes
    bd_wire_put_message(&writer, 4, &any);
    bd_wire_writer_finish(&writer);
}

static void buf_received(void *arg, braid_tensor *tensor, bool is_dead, const braid_status *from)
{
    const recv_call c = *(const recv_call *)arg;
    bd_free(arg);
    BD_STATUS(st);
    bd_status_copy(st, from);
    const bool is_plain = !st->code && !is_dead && bd_tensor_is_set(tensor) &&
                          tensor->dtype != BRAID_STRING && tensor->dtype != BRAID_RESOURCE &&
                          tensor->dtype != BRAID_VARIANT;
    const size_t bytes = is_plain ? bd_tensor_bytes(tensor) : 0;
    if (!st->code && (!is_plain || (int64_t)bytes != c.num_bytes))
        bd_fail(st, BRAID_INTERNAL, "RecvBuf: the buffer has %zu bytes, not %lld", bytes,
                (long long)c.num_bytes);
    if (st->code) {
        bd_incoming_reply_error(c.call, st);
        return;
    }
    bd_message response;
    bd_message_init(&response);
    write_bytes(tensor, bytes, &response);
    bd_incoming_reply(c.call, &response, st);
}

void bd_serve_recv_buf(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Tensorflow__RecvBufRequest *r =
        bd_proto_unpack_message(&tensorflow__recv_buf_request__descriptor, &call->request, arena, st);
    if (r && (strchr(r->src_device, ';') || strchr(r->dst_device, ';') || strchr(r->buf_rendezvous_key, ';')))
        bd_fail(st, BRAID_INVALID_ARGUMENT, "RecvBuf: a device or the key holds a ';'");
    char *key = !r || st->code ? NULL
                               : bd_rendezvous_key_format(r->src_device, r->src_incarnation, r->dst_device,
                                                          r->buf_rendezvous_key, 0, 0);
    if (key && strlen(key) > BD_RENDEZVOUS_KEY_LEN_MAX)
        bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "RecvBuf: a key is longer than %d", BD_RENDEZVOUS_KEY_LEN_MAX);
    else if (key && !bd_request_ids_add(&env->recv_ids, r->request_id))
        bd_fail(st, BRAID_ABORTED, "RecvBuf: request %lld has come before", (long long)r->request_id);
    if (key && !st->code) {
        recv_call *c = bd_malloc(sizeof *c);
        *c = (recv_call){call, r->num_bytes};
        bd_local_worker_recv_tensor(env->worker, r->step_id, key, buf_received, c);
    } else {
        bd_incoming_reply_error(call, st);
    }
    bd_free(key);
}
