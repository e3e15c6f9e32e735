// The in-process session: its own copy of the graph, placed on the devices of this process, and plans
// compiled from it.
//
// A run gets its executable (one plan a device) from the plan cache, a step with a
// random id and a cancellation token, child of the session's, and runs the plans: one
// on the calling thread, the others from the pool. cancel cancels the session's token.
#include "runtime/direct_session_internal.h"

#include "base/alloc.h"
#include "base/hogwild.h"
#include "graph/lower.h"
#include "graph/turns.h"
#include "runtime/debug_nodes.h"
#include "runtime/placer.h"
#include "runtime/step_stats_proto.h"
#include <string.h>

#define TASK "/job:localhost/replica:0/task:0"

// Sessions that are open in this process: memory is given back when the last one ends.
static atomic_int open_sessions;

// ---- Extending ----

static braid_op *copy_of(const bd_direct_session *s, const braid_op *n)
{
    return (size_t)n->id < s->copies.len ? s->copies.items[n->id] : NULL;
}

static void copy_node(bd_direct_session *s, const braid_op *n)
{
    BD_ARRAY(braid_out) inputs = {0};
    bd_op_list controls = {0};
    for (int i = 0; i < n->input_count; i++) {
        // The back edge of a loop comes from a node that is copied later: see connect_later.
        braid_out input = {.op = copy_of(s, n->inputs[i].op), .index = n->inputs[i].index};
        bd_array_push(&inputs, input);
    }
    for (int i = 0; i < n->control_count; i++) {
        if (copy_of(s, n->controls[i])) bd_array_push(&controls, copy_of(s, n->controls[i]));
    }
    braid_op *copy =
        bd_graph_copy_node(&s->graph, n, inputs.items, (int)inputs.len, controls.items, (int)controls.len);
    bd_array_push(&s->copies, copy);
    bd_array_free(&inputs);
    bd_array_free(&controls);
}

static void connect_later(bd_direct_session *s, const braid_op *n)
{
    braid_op *copy = copy_of(s, n);
    for (int i = 0; i < n->input_count; i++) {
        if (copy->inputs[i].op) continue;
        bd_node_set_input(copy, i,
                          (braid_out){.op = copy_of(s, n->inputs[i].op), .index = n->inputs[i].index});
    }
    for (int i = 0; i < n->control_count; i++)
        bd_node_add_control(copy, copy_of(s, n->controls[i]));
}

// Removes the nodes that were just added: of the client from `from` on, of the session's graph from `first`
// on.
static void forget_from(bd_direct_session *s, int from, int first)
{
    for (size_t i = (size_t)first; i < s->graph.nodes.len; i++)
        bd_map_remove(&s->graph.by_name, s->graph.nodes.items[i]->name);
    s->graph.nodes.len = (size_t)first;
    s->copies.len = (size_t)from;
}

static braid_code extend_locked(bd_direct_session *s, const braid_graph *graph, int from, braid_status *st)
{
    BD_ASSERT(s->copies.len == (size_t)from);
    const int first = (int)s->graph.nodes.len; // lowering adds nodes that the client does not have
    s->graph.producer = graph->producer;
    s->graph.min_consumer = graph->min_consumer;
    bd_graph_share_library(&s->graph, graph);
    for (size_t i = (size_t)from; i < graph->nodes.len; i++)
        copy_node(s, graph->nodes.items[i]);
    for (size_t i = (size_t)from; i < graph->nodes.len; i++)
        connect_later(s, graph->nodes.items[i]);
    bd_graph_unlock(graph);
    const bd_placer_options options = {.devices = s->infos,
                                       .device_count = s->device_count,
                                       .default_device = s->infos[0].name,
                                       .allow_soft_placement =
                                           s->allow_soft_placement || s->place_pruned_graph,
                                       .log_soft_placement = s->allow_soft_placement,
                                       .log_device_placement = s->log_device_placement};
    bd_graph_lower(&s->graph, first);
    braid_code code = bd_place(&s->graph, first, &options, st);
    if (code) forget_from(s, from, first);
    return code;
}

static braid_code direct_extend(bd_session *base, const braid_graph *graph, int from, braid_status *st)
{
    bd_direct_session *s = bd_direct_of(base);
    bd_mutex_lock(&s->graph_mu);
    braid_code code = extend_locked(s, graph, from, st);
    bd_mutex_unlock(&s->graph_mu);
    return code;
}

// ---- Compiling ----

braid_code bd_direct_prune(bd_direct_session *s, const bd_run_signature *signature, bd_feed_style style,
                           const bd_device_info *client, bd_client_graph *out, braid_status *st)
{
    bd_mutex_lock(&s->graph_mu);
    braid_code code = bd_client_graph_build(&s->graph, signature, style, client, out, st);
    bd_mutex_unlock(&s->graph_mu);
    if (code) return code;
    const bd_placer_options devices = {.devices = s->infos, .device_count = s->device_count};
    if (s->place_pruned_graph && !s->allow_soft_placement) code = bd_place_check(&out->graph, &devices, st);
    if (code) bd_client_graph_fini(out);
    return code;
}

static braid_code compile(void *arg, const bd_run_signature *signature, bd_cancellation *cancellation,
                          void **entry, braid_status *st)
{
    (void)cancellation; // does not wait
    bd_direct_session *s = arg;
    bd_client_graph prepared;
    braid_code code = bd_direct_prune(s, signature, BD_FEED_BY_CALL_FRAME, NULL, &prepared, st);
    if (code) return code;
    const bd_local_devices devices = {.devices = s->devices, .infos = s->infos, .count = s->device_count};
    bd_executable *e;
    code = bd_executable_compile(&prepared.graph, &devices, s->disabled_rewrites, signature->debug,
                                 s->kernels, &e, st);
    bd_client_graph_fini(&prepared);
    *entry = e;
    return code;
}

// ---- Time limits ----

static void time_is_up(void *arg)
{
    const bd_direct_limit *l = arg;
    BD_STATUS(why);
    bd_fail(why, BRAID_DEADLINE_EXCEEDED,
            "Timed out waiting for notification: the run took longer than %lld ms", (long long)l->ms);
    bd_cancellation_cancel(l->cancellation, why);
}

static braid_code get_timers(bd_direct_session *s, bd_timers **timers, braid_status *st)
{
    bd_mutex_lock(&s->mu);
    braid_code code = s->timers ? BRAID_OK : bd_timers_new(&s->timers, st);
    *timers = s->timers;
    bd_mutex_unlock(&s->mu);
    return code;
}

braid_code bd_direct_limit_start(bd_direct_session *s, bd_direct_limit *l, bd_cancellation *c, int64_t ms,
                                 braid_status *st)
{
    if (ms <= 0) ms = s->operation_timeout_ms;
    *l = (bd_direct_limit){.cancellation = c, .ms = ms};
    if (ms <= 0) return BRAID_OK;
    braid_code code = get_timers(s, &l->timers, st);
    if (!code) l->timer = bd_timer_add(l->timers, bd_deadline_after_ms(ms), time_is_up, l);
    return code;
}

void bd_direct_limit_end(bd_direct_limit *l)
{
    if (l->timer) bd_timer_cancel_wait(l->timers, l->timer);
}

// ---- One step ----

// Lays the values out in the entry's order.
typedef struct frame_values {
    bd_call_frame frame;
    braid_tensor *args, *rets;
    int *order; // [feeds, then fetches]
    braid_tensor inline_args[8], inline_rets[8];
    int inline_order[16];
} frame_values;

static void open_frame(frame_values *f, const bd_run_signature *sig)
{
    size_t feeds = (size_t)sig->feed_count, fetches = (size_t)sig->fetch_count;
    f->args = feeds <= BD_COUNTOF(f->inline_args) ? f->inline_args : bd_calloc(feeds, sizeof *f->args);
    f->rets = fetches <= BD_COUNTOF(f->inline_rets) ? f->inline_rets : bd_calloc(fetches, sizeof *f->rets);
    f->order = feeds + fetches <= BD_COUNTOF(f->inline_order) ? f->inline_order
                                                              : bd_calloc(feeds + fetches, sizeof *f->order);
    for (size_t i = 0; i < fetches; i++)
        f->rets[i] = (braid_tensor){0};
    f->frame = (bd_call_frame){.args = f->args,
                               .arg_count = sig->feed_count,
                               .rets = f->rets,
                               .ret_count = sig->fetch_count,
                               .shares_variables = true};
}

static void close_frame(frame_values *f)
{
    for (int i = 0; i < f->frame.ret_count; i++)
        bd_tensor_fini(&f->rets[i]);
    if (f->args != f->inline_args) bd_free(f->args);
    if (f->rets != f->inline_rets) bd_free(f->rets);
    if (f->order != f->inline_order) bd_free(f->order);
}

// As in TensorFlow, a reference variable that is fetched beside its update has the value after it. Later
// steps must not change it.
static bool take_result(const braid_tensor *ret, braid_tensor *value)
{
    if (!ret->buffer || !ret->buffer->is_variable) {
        bd_tensor_ref(value, ret);
        return true;
    }
    if (!bd_tensor_alloc(value, ret->dtype, &ret->shape)) return false;
    bd_copy_racing(value->data, ret->data, bd_tensor_bytes(ret));
    return true;
}

static braid_code take_results(frame_values *f, const bd_run_signature *sig, braid_tensor *values,
                               braid_status *st)
{
    const int *order = f->order + sig->feed_count;
    for (int i = 0; i < sig->fetch_count; i++) {
        if (bd_tensor_is_set(&f->rets[order[i]])) continue;
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Retval[%d] does not have value: '%s' was not computed", i,
                       sig->fetches[i]);
    }
    for (int i = 0; i < sig->fetch_count; i++) {
        if (take_result(&f->rets[order[i]], &values[i])) continue;
        while (--i >= 0)
            bd_tensor_fini(&values[i]);
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when copying the variables that are fetched");
    }
    return BRAID_OK;
}

int64_t bd_direct_draw_step_id(bd_direct_session *s)
{
    bd_mutex_lock(&s->mu);
    int64_t id = (int64_t)(bd_rng_next(&s->rng) >> 2) + 1; // TensorFlow's ids have the two upper bits clear
    bd_mutex_unlock(&s->mu);
    return id;
}

static braid_code run_limited(bd_direct_session *s, bd_executable *e, bd_step *step,
                              const bd_session_run *run, braid_status *st)
{
    step->cancellation = bd_cancellation_new(run->cancellation ? run->cancellation : s->cancellation);
    if (bd_executable_uses_rendezvous(e)) step->rendezvous = bd_local_rendezvous_new();
    bd_direct_limit limit;
    braid_code code = bd_direct_limit_start(s, &limit, step->cancellation, run->timeout_ms, st);
    if (!code) code = bd_executable_run(e, step, s->pool, st);
    bd_direct_limit_end(&limit);
    bd_rendezvous_unref(step->rendezvous);
    bd_cancellation_unref(step->cancellation);
    return code;
}

// Without the price of printf.
const char *bd_direct_container(char buf[BD_DIRECT_CONTAINER_MAX], int64_t id)
{
    static const char before[] = BD_STEP_CONTAINER_PREFIX, after[] = "__";
    char *at = buf + BD_DIRECT_CONTAINER_MAX - 1;
    *at = 0;
    at -= sizeof after - 1;
    memcpy(at, after, sizeof after - 1);
    for (uint64_t left = (uint64_t)id; left > 0; left /= 10)
        *--at = (char)('0' + left % 10);
    at -= sizeof before - 1;
    memcpy(at, before, sizeof before - 1);
    return at;
}

static void write_stats(const bd_direct_session *s, bd_step_stats_collector *stats, bd_wire_writer *out)
{
    bd_message all;
    bd_message_init(&all);
    for (int i = 0; i < s->device_count; i++)
        bd_step_stats_proto_write(stats, s->infos[i].name, &all);
    bd_wire_put_message(out, BD_RUN_METADATA_STEP_STATS, &all);
    bd_message_fini(&all);
}

static void write_metadata(const bd_direct_session *s, const bd_executable *entry,
                           bd_step_stats_collector *stats, const bd_session_run *run)
{
    bd_wire_writer out;
    bd_wire_writer_init(&out, run->metadata);
    if (stats) write_stats(s, stats, &out);
    if (run->records & BRAID_RECORD_GRAPHS)
        bd_executable_write_graphs(entry, BD_RUN_METADATA_PARTITION_GRAPHS, &out);
    bd_wire_writer_finish(&out);
}

static braid_code begin_debug_step(const bd_direct_session *s, bd_executable *entry,
                                   const bd_run_signature *sig, braid_status *st)
{
    static atomic_llong steps; // with watches, of the process
    return bd_debug_begin_step(sig, s->devices[0]->fs, atomic_fetch_add(&steps, 1),
                               bd_executable_count_debug_step(entry), st);
}

// Runs the compiled entry of the signature. `f` is open and has the order of the feeds and fetches.
static braid_code run_entry(bd_direct_session *s, bd_executable *entry, frame_values *f,
                            const bd_session_run *v, braid_status *st)
{
    const bd_run_signature *sig = v->signature;
    for (int i = 0; i < sig->feed_count; i++)
        f->args[f->order[i]] = *v->feeds[i]; // borrowed
    char container[BD_DIRECT_CONTAINER_MAX];
    bd_step step = {.id = bd_direct_draw_step_id(s), .frame = &f->frame, .pool = s->intra};
    step.container = bd_direct_container(container, step.id);
    step.collectives = &s->collectives;
    if (v->records & BRAID_RECORD_STATS) step.stats = bd_step_stats_collector_new();
    braid_code code = sig->debug ? begin_debug_step(s, entry, sig, st) : BRAID_OK;
    if (!code) code = run_limited(s, entry, &step, v, st);
    if (!code) code = take_results(f, sig, v->fetches, st);
    if (!code && v->metadata) write_metadata(s, entry, step.stats, v);
    bd_step_stats_collector_unref(step.stats);
    return code;
}

braid_code bd_direct_run_compiled(bd_direct_session *s, bd_executable *entry, const int *order,
                                  const bd_session_run *run, braid_status *st)
{
    const bd_run_signature *sig = run->signature;
    frame_values f;
    open_frame(&f, sig);
    memcpy(f.order, order, (size_t)(sig->feed_count + sig->fetch_count) * sizeof *order);
    braid_code code = run_entry(s, entry, &f, run, st);
    close_frame(&f);
    return code;
}

static braid_code direct_run(bd_session *base, const bd_session_run *run, braid_status *st)
{
    bd_direct_session *s = bd_direct_of(base);
    const bd_run_signature *sig = run->signature;
    frame_values f;
    open_frame(&f, sig);
    void *entry;
    braid_code code = bd_plan_cache_get(s->plans, sig, NULL, &entry, f.order, st);
    if (!code) {
        code = run_entry(s, entry, &f, run, st);
        bd_executable_unref(entry);
    }
    close_frame(&f);
    return code;
}

// ---- Collectives: the groups are of this process alone ----

static void join_group(bd_collectives *base, const bd_collective_join *asked, const char *leader,
                       bd_cancellation *cancellation, bd_collective_fn fn, void *arg)
{
    (void)leader;
    bd_direct_session *s = BD_CONTAINER_OF(base, bd_direct_session, collectives);
    bd_collective_join join = *asked;
    for (int i = 0; i < s->device_count; i++)
        if (strcmp(s->infos[i].name, join.device) == 0) join.incarnation = s->infos[i].incarnation;
    bd_collective_groups_join(s->groups, &join, cancellation, fn, arg);
}

static void forget_group(bd_collectives *base, int32_t group_key)
{
    (void)base, (void)group_key; // it stores no groups
}

// ---- Devices, notifications ----

static braid_code direct_list_devices(bd_session *base, bd_device_info **devices, int *count,
                                      braid_status *st)
{
    (void)st;
    bd_direct_session *s = bd_direct_of(base);
    size_t bytes = 0;
    for (int i = 0; i < s->device_count; i++)
        bytes += strlen(s->infos[i].name) + strlen(s->infos[i].type) + 2;
    bd_device_info *out = bd_malloc((size_t)s->device_count * sizeof *out + bytes);
    char *text = (char *)(out + s->device_count);
    for (int i = 0; i < s->device_count; i++) {
        out[i] = s->infos[i];
        out[i].name = strcpy(text, s->infos[i].name);
        text += strlen(text) + 1;
        out[i].type = strcpy(text, s->infos[i].type);
        text += strlen(text) + 1;
    }
    *devices = out;
    *count = s->device_count;
    return BRAID_OK;
}

static braid_code direct_notify(bd_session *base, const char *key, braid_status *st)
{
    (void)st;
    bd_local_notifications_notify(&bd_direct_of(base)->notified, key);
    return BRAID_OK;
}

static braid_code direct_wait_notification(bd_session *base, const braid_notification_wait *wait,
                                           int64_t *generation, braid_status *st)
{
    return bd_local_notifications_wait(&bd_direct_of(base)->notified, wait->key, wait->seen, wait->timeout_ms,
                                       generation, st);
}

// ---- Beginning and end ----

static void destroy(bd_direct_session *s)
{
    for (int i = 0; i < s->device_count; i++)
        bd_device_close(s->devices[i]);
    bd_direct_drop_callables(s);
    bd_plan_cache_free(s->plans);
    bd_plan_cache_free(s->partial_plans);
    bd_thread_pool_free(s->pool); // runs tasks that were submitted before; frees the last plans
    bd_thread_pool_free(s->intra);
    bd_timers_free(s->timers);
    bd_collective_groups_free(s->groups);
    bd_kernel_store_free(s->kernels);
    for (int i = 0; i < s->device_count; i++)
        bd_device_free(s->devices[i]);
    bd_free(s->devices);
    bd_free(s->infos);
    bd_cancellation_unref(s->cancellation);
    bd_graph_fini(&s->graph);
    bd_array_free(&s->copies);
    bd_local_notifications_fini(&s->notified);
    bd_mutex_fini(&s->mu);
    bd_mutex_fini(&s->graph_mu);
    bd_free(s);
    if (atomic_fetch_sub(&open_sessions, 1) == 1) bd_buffer_pool_trim(0);
}

static bd_cancellation *direct_cancellation(bd_session *base)
{
    return bd_direct_of(base)->cancellation;
}

static void direct_cancel(bd_session *base)
{
    bd_direct_session *s = bd_direct_of(base);
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, BD_SESSION_CLOSED);
    bd_local_notifications_end(&s->notified);
    bd_cancellation_cancel(s->cancellation, why);
}

static braid_code direct_close(bd_session *base, braid_status *st)
{
    (void)st;
    bd_direct_end_partial_runs(bd_direct_of(base)); // while the pool has threads for them
    destroy(bd_direct_of(base));
    return BRAID_OK;
}

static void make_devices(bd_direct_session *s, int count)
{
    s->device_count = count;
    s->devices = bd_calloc((size_t)count, sizeof(bd_device *));
    s->infos = bd_calloc((size_t)count, sizeof *s->infos);
    for (int i = 0; i < count; i++) {
        bd_device *d = s->devices[i] = bd_device_new(TASK, "CPU", i, s->pool);
        s->infos[i] = bd_device_info_of(d);
    }
}

static braid_code make_pools(bd_direct_session *s, const braid_session_options *o, braid_status *st)
{
    int inter = o->inter_op_threads > 0 ? o->inter_op_threads : bd_cpu_count();
    int intra = o->intra_op_threads > 0 ? o->intra_op_threads : bd_cpu_count();
    braid_code code = bd_thread_pool_new("braid_nodes", inter, &s->pool, st);
    if (!code && intra > 1) code = bd_thread_pool_new("braid_intra", intra, &s->intra, st);
    return code;
}

braid_code bd_direct_session_new(const braid_session_options *options, bd_session **out, braid_status *st)
{
    static const bd_session_ops ops = {.extend = direct_extend,
                                       .run = direct_run,
                                       .make_callable = bd_direct_make_callable,
                                       .run_callable = bd_direct_run_callable,
                                       .release_callable = bd_direct_release_callable,
                                       .setup_partial_run = bd_direct_setup_partial_run,
                                       .run_partial = bd_direct_run_partial,
                                       .end_partial_run = bd_direct_end_partial_run,
                                       .list_devices = direct_list_devices,
                                       .notify = direct_notify,
                                       .wait_notification = direct_wait_notification,
                                       .cancellation = direct_cancellation,
                                       .cancel = direct_cancel,
                                       .close = direct_close};
    static const bd_plan_cache_ops cache_ops = {
        .compile = compile, .ref = bd_executable_ref, .unref = bd_executable_unref};
    static const braid_session_options defaults;
    const braid_session_options *o = options ? options : &defaults;
    *out = NULL;
    if (bd_cpu_devices_check(o->cpu_devices, st)) return st->code;
    bd_direct_session *s = bd_calloc(1, sizeof *s);
    atomic_fetch_add(&open_sessions, 1);
    s->base.ops = &ops;
    s->allow_soft_placement = o->allow_soft_placement;
    s->log_device_placement = o->log_device_placement;
    s->place_pruned_graph = o->place_pruned_graph;
    s->operation_timeout_ms = o->operation_timeout_ms;
    s->disabled_rewrites = o->disabled_rewrites;
    bd_mutex_init(&s->graph_mu);
    bd_mutex_init(&s->mu);
    bd_local_notifications_init(&s->notified);
    bd_graph_init(&s->graph);
    s->rng = bd_rng_init(bd_random_u64());
    s->cancellation = bd_cancellation_new(NULL);
    s->collectives = (bd_collectives){.join = join_group, .forget = forget_group};
    s->groups = bd_collective_groups_new();
    s->kernels = bd_kernel_store_new();
    s->plans = bd_plan_cache_new(&cache_ops, s, BD_SESSION_PLANS_MAX);
    s->partial_plans = bd_plan_cache_new(&bd_direct_partial_plan_ops, s, BD_SESSION_PLANS_MAX);
    braid_code code = make_pools(s, o, st);
    if (code) {
        destroy(s);
        return code;
    }
    make_devices(s, o->cpu_devices > 0 ? o->cpu_devices : 1);
    *out = &s->base;
    return BRAID_OK;
}
