// Collectives of a task.
//
// The leader's answers are stored by group and instance, so that a step needs no request; they are dropped
// when a member of the group could not be reached, since it may have restarted with another incarnation.
#include "cluster/worker/collectives.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/thread.h"
#include "cluster/rpc/methods.h"
#include "cluster/rpc/wire_fields.h"
#include "graph/device_name.h"
#include "proto/pack.h"
#include "tensorflow/core/protobuf/worker.pb-c.h"
#include <string.h>

// More than gRPC waits before it connects again.
#define CONNECT_MS 2000
// Graph keys that this task is asked for at most: one for each program that uses it.
#define STEP_KEYS_MAX 4096
#define REMEMBERED_MAX 65536
// Far above the ids that are drawn: counting on does not overflow.
#define STEP_ID_MAX (INT64_C(1) << 60)

// What a group is known by.
typedef struct group_id {
    int32_t group_key, group_size, instance_key, type, dtype, is_source;
} group_id;

typedef struct remembered {
    bd_arena arena;
    group_id id;
    bd_collective_group group;
} remembered;

// Steps of a graph key.
typedef struct sequence {
    int64_t next;     // id; -ID: the leader gives the successor of ID
    bool is_run_here; // now, by the leader's own master, which will count on
} sequence;

struct bd_task_collectives {
    bd_collectives base;
    const bd_peers *peers;
    const bd_local_devices *devices;
    bd_collective_groups *groups;
    bd_mutex mu;
    bd_map remembered; // by group_id; guarded by mu
    bd_imap steps;     // graph key -> sequence; guarded by mu
};

static bd_task_collectives *of(bd_collectives *c)
{
    return BD_CONTAINER_OF(c, bd_task_collectives, base);
}

// ---- What is remembered ----

static group_id id_of(const bd_collective_join *j)
{
    return (group_id){j->group_key, j->group_size, j->instance_key, j->type, j->dtype, j->is_source};
}

static void remembered_free(remembered *r)
{
    bd_arena_fini(&r->arena);
    bd_free(r);
}

static void copy_group(bd_arena *arena, const bd_collective_group *from, bd_collective_group *to)
{
    *to = *from;
    const char **devices = BD_ARENA_ARRAY(arena, const char *, (size_t)from->size);
    for (int i = 0; i < from->size; i++)
        devices[i] = bd_arena_strdup(arena, from->devices[i]);
    to->devices = devices;
    to->incarnations =
        bd_arena_memdup(arena, from->incarnations, (size_t)from->size * sizeof *from->incarnations);
}

static void remember(bd_task_collectives *c, const bd_collective_join *j, const bd_collective_group *g)
{
    remembered *r = bd_calloc(1, sizeof *r), *old = r;
    r->id = id_of(j);
    copy_group(&r->arena, g, &r->group);
    bd_mutex_lock(&c->mu);
    if (bd_map_count(&c->remembered) < REMEMBERED_MAX)
        old = bd_map_put_n(&c->remembered, (const char *)&r->id, sizeof r->id, r);
    bd_mutex_unlock(&c->mu);
    if (old) remembered_free(old);
}

// Copies it to `arena`. Returns false when it is unknown.
static bool recall(bd_task_collectives *c, const bd_collective_join *j, bd_arena *arena,
                   bd_collective_group *out)
{
    const group_id id = id_of(j);
    bd_mutex_lock(&c->mu);
    const remembered *r = bd_map_get_n(&c->remembered, (const char *)&id, sizeof id);
    if (r) copy_group(arena, &r->group, out);
    bd_mutex_unlock(&c->mu);
    return r != NULL;
}

static void forget(bd_collectives *base, int32_t group_key)
{
    bd_task_collectives *c = of(base);
    size_t pos = 0;
    void *found;
    bd_mutex_lock(&c->mu);
    while (bd_map_next(&c->remembered, &pos, NULL, &found)) {
        remembered *r = found;
        if (r->id.group_key != group_key) continue;
        bd_map_remove_n(&c->remembered, (const char *)&r->id, sizeof r->id);
        remembered_free(r);
    }
    bd_mutex_unlock(&c->mu);
}

// ---- Asking the leader ----

typedef struct asking {
    bd_task_collectives *c;
    const bd_peer *leader;
    bd_arena arena;
    bd_collective_join join; // its strings are in the arena
    bd_collective_group group;
    bd_cancellation *cancellation; // a reference
    bd_collective_fn fn;
    void *arg;
} asking;

static void asking_end(asking *a, const braid_status *st)
{
    if (!st->code) remember(a->c, &a->join, &a->group);
    a->fn(a->arg, st->code ? NULL : &a->group, st);
    bd_cancellation_unref(a->cancellation);
    bd_arena_fini(&a->arena);
    bd_free(a);
}

static bd_rpc_options options_of(const asking *a, const char *method)
{
    bd_rpc_options options = bd_peer_rpc(a->leader, method);
    options.cancellation = a->cancellation;
    return options;
}

static void instance_known(void *arg, bd_message *response, const braid_status *from)
{
    asking *a = arg;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Tensorflow__CompleteInstanceResponse *r = NULL;
    if (from->code)
        bd_peer_explain(a->leader, "CompleteInstance", from, st);
    else
        r = bd_proto_unpack_message(&tensorflow__complete_instance_response__descriptor, response, arena, st);
    if (r && a->join.type == BD_COLLECTIVE_BROADCAST) a->group.source = r->source_rank;
    asking_end(a, st);
}

static void ask_for_instance(asking *a)
{
    Tensorflow__CompleteInstanceRequest request = TENSORFLOW__COMPLETE_INSTANCE_REQUEST__INIT;
    request.name = (char *)a->join.name;
    request.type = a->join.type;
    request.data_type = (Tensorflow__DataType)a->join.dtype;
    request.group_key = a->join.group_key;
    request.group_size = a->join.group_size;
    request.instance_key = a->join.instance_key;
    request.device_type = (char *)a->join.device_type;
    request.device = (char *)a->join.device;
    request.is_source = a->join.is_source;
    const bd_rpc_options options = options_of(a, BD_WORKER_SERVICE "CompleteInstance");
    bd_rpc_start_proto(&options, &request.base, instance_known, a);
}

// The devices and, of a leader of Braid, their incarnations.
static braid_code read_group(asking *a, const bd_message *response, braid_status *st)
{
    BD_PROTO_ARENA(arena);
    const Tensorflow__CompleteGroupResponse *r =
        bd_proto_unpack_message(&tensorflow__complete_group_response__descriptor, response, arena, st);
    if (!r) return st->code;
    if (r->n_device_name != (size_t)a->join.group_size)
        return bd_fail(st, BRAID_INTERNAL,
                       "%s: the answer of CompleteGroup has %zu devices for a group of %d", a->leader->label,
                       r->n_device_name, a->join.group_size);
    const char **devices = BD_ARENA_ARRAY(&a->arena, const char *, r->n_device_name);
    uint64_t *incarnations = BD_ARENA_ARRAY(&a->arena, uint64_t, r->n_device_name);
    for (size_t i = 0; i < r->n_device_name; i++)
        devices[i] = bd_arena_strdup(&a->arena, r->device_name[i]);
    bd_wire_reader in = bd_wire_reader_of(response);
    uint32_t field;
    bd_wire_type type;
    for (size_t i = 0; bd_wire_next(&in, &field, &type);) {
        if (field == BD_COMPLETE_GROUP_INCARNATIONS && type == BD_WIRE_FIXED64 && i < r->n_device_name)
            bd_wire_get_fixed64(&in, &incarnations[i++]);
        else
            bd_wire_skip(&in, type);
    }
    a->group = (bd_collective_group){
        .size = a->join.group_size, .devices = devices, .incarnations = incarnations, .source = -1};
    return BRAID_OK;
}

static void group_known(void *arg, bd_message *response, const braid_status *from)
{
    asking *a = arg;
    BD_STATUS(st);
    if (from->code)
        bd_peer_explain(a->leader, "CompleteGroup", from, st);
    else
        read_group(a, response, st);
    if (st->code)
        asking_end(a, st);
    else
        ask_for_instance(a);
}

static void ask_for_group(asking *a)
{
    Tensorflow__CompleteGroupRequest request = TENSORFLOW__COMPLETE_GROUP_REQUEST__INIT;
    char *device = (char *)a->join.device;
    request.group_key = a->join.group_key;
    request.group_size = a->join.group_size;
    request.device_type = (char *)a->join.device_type;
    request.device_name = &device;
    request.n_device_name = 1;
    request.collective_type = a->join.type;
    bd_message message;
    bd_message_init(&message);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &message);
    bd_proto_pack(&request.base, &writer);
    bd_wire_put_fixed64(&writer, BD_COMPLETE_GROUP_INCARNATION, a->join.incarnation);
    bd_wire_writer_finish(&writer);
    const bd_rpc_options options = options_of(a, BD_WORKER_SERVICE "CompleteGroup");
    bd_rpc_start(&options, &message, group_known, a);
}

// Whatever the answer was: if the leader cannot be reached, CompleteGroup says so.
static void leader_connected(void *arg, bd_message *response, const braid_status *st)
{
    (void)response, (void)st;
    ask_for_group(arg);
}

// A leader that has just started may be one to which gRPC waits to connect again; calls that do not wait for
// that fail meanwhile.
static void connect_leader(asking *a)
{
    const Tensorflow__GetStatusRequest request = TENSORFLOW__GET_STATUS_REQUEST__INIT;
    bd_rpc_options options = options_of(a, BD_WORKER_SERVICE "GetStatus");
    options.wait_for_ready = true;
    options.deadline_ns = bd_deadline_after_ms(CONNECT_MS);
    bd_rpc_start_proto(&options, &request.base, leader_connected, a);
}

static void ask(bd_task_collectives *c, const bd_peer *leader, const bd_collective_join *j,
                bd_cancellation *cancellation, bd_collective_fn fn, void *arg)
{
    asking *a = bd_calloc(1, sizeof *a);
    a->c = c;
    a->leader = leader;
    a->join = *j;
    a->join.name = bd_arena_strdup(&a->arena, j->name);
    a->join.device = bd_arena_strdup(&a->arena, j->device);
    a->join.device_type = bd_arena_strdup(&a->arena, j->device_type);
    a->cancellation = bd_cancellation_ref(cancellation);
    a->fn = fn;
    a->arg = arg;
    connect_leader(a);
}

// Of one of this task's devices, by the name of the task in the server's cluster or in that of a session.
static uint64_t incarnation_of(const bd_task_collectives *c, const char *device)
{
    const char *of_task = device + bd_task_name_len(device, strlen(device));
    const bd_device_info *infos = c->devices->infos;
    for (int i = 0; i < c->devices->count; i++)
        if (strcmp(infos[i].name + bd_task_name_len(infos[i].name, strlen(infos[i].name)), of_task) == 0)
            return infos[i].incarnation;
    return infos[0].incarnation;
}

static void join(bd_collectives *base, const bd_collective_join *asked, const char *leader,
                 bd_cancellation *cancellation, bd_collective_fn fn, void *arg)
{
    bd_task_collectives *c = of(base);
    BD_STATUS(st);
    bd_collective_join j = *asked;
    j.incarnation = incarnation_of(c, j.device);
    const bool is_named = leader && leader[0];
    const bd_peer *peer = is_named ? bd_peers_of_device(c->peers, leader, strlen(leader)) : c->peers->self;
    bd_arena arena;
    bd_arena_init(&arena);
    bd_collective_group known;
    if (!peer) {
        bd_fail(st, BRAID_INVALID_ARGUMENT, "The leader of collective groups, %s, is no task of the cluster",
                leader);
        fn(arg, NULL, st);
    } else if (peer->is_self) {
        bd_collective_groups_join(c->groups, &j, cancellation, fn, arg);
    } else if (recall(c, &j, &arena, &known)) {
        fn(arg, &known, st);
    } else {
        ask(c, peer, &j, cancellation, fn, arg);
    }
    bd_arena_fini(&arena);
}

// ---- Steps ----

// Finds or makes the sequence of a key and sets its next step if it was unknown; NULL with an error.
static sequence *find_sequence_locked(bd_task_collectives *c, int64_t graph_key, int64_t if_new,
                                      braid_status *st)
{
    sequence *q = bd_imap_get(&c->steps, (uint64_t)graph_key);
    if (q && q->next < 0) q->next = if_new;
    if (q) return q;
    if (bd_imap_count(&c->steps) >= STEP_KEYS_MAX) {
        bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "There are %d graph keys of collectives already",
                STEP_KEYS_MAX);
        return NULL;
    }
    q = bd_calloc(1, sizeof *q);
    q->next = if_new;
    bd_imap_put(&c->steps, (uint64_t)graph_key, q);
    return q;
}

static braid_code set_step(bd_task_collectives *c, int64_t graph_key, int64_t if_new, int64_t after,
                           int64_t *step_id, braid_status *st)
{
    bd_mutex_lock(&c->mu);
    sequence *q = find_sequence_locked(c, graph_key, if_new, st);
    if (q && !q->is_run_here && q->next <= after) q->next = after + 1;
    if (q) *step_id = q->next;
    bd_mutex_unlock(&c->mu);
    return st->code;
}

braid_code bd_task_collectives_next_step(bd_task_collectives *c, int64_t graph_key, int64_t after,
                                         int64_t *step_id, braid_status *st)
{
    // TensorFlow's ids have the upper bits clear.
    return set_step(c, graph_key, (int64_t)(bd_random_u64() >> 8) + 1, bd_min(after, STEP_ID_MAX), step_id,
                    st);
}

void bd_task_collectives_end_step(bd_task_collectives *c, const bd_peer *leader, int64_t graph_key,
                                  int64_t step_id, bool has_failed)
{
    const bool is_leader = !leader || leader->is_self;
    bd_mutex_lock(&c->mu);
    sequence *q = bd_imap_get(&c->steps, (uint64_t)graph_key);
    if (q) q->is_run_here = false;
    if (q && q->next == step_id && (is_leader || !has_failed))
        q->next++;
    else if (q && !is_leader)
        q->next = -bd_max(step_id, q->next > 0 ? q->next - 1 : -q->next);
    bd_mutex_unlock(&c->mu);
}

typedef struct step_asking {
    bd_task_collectives *c;
    const bd_peer *leader;
    int64_t graph_key;
    void (*fn)(void *arg, int64_t step_id, const braid_status *st);
    void *arg;
} step_asking;

static void step_known(void *arg, bd_message *response, const braid_status *from)
{
    step_asking a = *(step_asking *)arg;
    bd_free(arg);
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Tensorflow__GetStepSequenceResponse *r = NULL;
    if (from->code)
        bd_peer_explain(a.leader, "GetStepSequence", from, st);
    else
        r = bd_proto_unpack_message(&tensorflow__get_step_sequence_response__descriptor, response, arena, st);
    int64_t step_id = 0;
    if (r && (r->n_step_sequence != 1 || r->step_sequence[0]->graph_key != a.graph_key ||
              r->step_sequence[0]->next_step_id <= 0 || r->step_sequence[0]->next_step_id > STEP_ID_MAX + 1))
        bd_fail(st, BRAID_INTERNAL, "%s: the answer of GetStepSequence is not about graph key %lld",
                a.leader->label, (long long)a.graph_key);
    if (r && !st->code) set_step(a.c, a.graph_key, r->step_sequence[0]->next_step_id, 0, &step_id, st);
    a.fn(a.arg, step_id, st);
}

static void ask_for_step(const step_asking *a, int64_t after, bd_cancellation *cancellation)
{
    Tensorflow__GetStepSequenceRequest request = TENSORFLOW__GET_STEP_SEQUENCE_REQUEST__INIT;
    int64_t graph_key = a->graph_key;
    request.n_graph_key = 1;
    request.graph_key = &graph_key;
    bd_message message;
    bd_message_init(&message);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &message);
    bd_proto_pack(&request.base, &writer);
    if (after) bd_wire_put_fixed64(&writer, BD_GET_STEP_SEQUENCE_AFTER, (uint64_t)after);
    bd_wire_writer_finish(&writer);
    bd_rpc_options options = bd_peer_rpc(a->leader, BD_WORKER_SERVICE "GetStepSequence");
    options.cancellation = cancellation;
    bd_rpc_start(&options, &message, step_known, bd_memdup(a, sizeof *a));
}

void bd_task_collectives_begin_step(bd_task_collectives *c, const bd_peer *leader, int64_t graph_key,
                                    bd_cancellation *cancellation,
                                    void (*fn)(void *arg, int64_t step_id, const braid_status *st), void *arg)
{
    BD_STATUS(st);
    const bool is_leader = !leader || leader->is_self;
    int64_t step_id = 0;
    if (is_leader) bd_task_collectives_next_step(c, graph_key, 0, &step_id, st);
    bd_mutex_lock(&c->mu);
    sequence *q = bd_imap_get(&c->steps, (uint64_t)graph_key);
    if (q) q->is_run_here = is_leader;
    const int64_t known = q ? q->next : 0;
    bd_mutex_unlock(&c->mu);
    if (!st->code) step_id = bd_max(known, 0);
    if (step_id || st->code)
        fn(arg, step_id, st);
    else
        ask_for_step(&(step_asking){c, leader, graph_key, fn, arg}, -known, cancellation);
}

// ---- Beginning and end ----

bd_task_collectives *bd_task_collectives_new(const bd_peers *peers, const bd_local_devices *devices)
{
    bd_task_collectives *c = bd_calloc(1, sizeof *c);
    c->base = (bd_collectives){.join = join, .forget = forget};
    c->peers = peers;
    c->devices = devices;
    c->groups = bd_collective_groups_new();
    bd_mutex_init(&c->mu);
    return c;
}

void bd_task_collectives_free(bd_task_collectives *c)
{
    if (!c) return;
    size_t pos = 0;
    void *found;
    while (bd_map_next(&c->remembered, &pos, NULL, &found))
        remembered_free(found);
    pos = 0;
    while (bd_imap_next(&c->steps, &pos, NULL, &found))
        bd_free(found);
    bd_map_fini(&c->remembered);
    bd_imap_fini(&c->steps);
    bd_collective_groups_free(c->groups);
    bd_mutex_fini(&c->mu);
    bd_free(c);
}

bd_collectives *bd_task_collectives_base(bd_task_collectives *c)
{
    return &c->base;
}

bd_collective_groups *bd_task_collectives_groups(bd_task_collectives *c)
{
    return c->groups;
}
