// One step of a session: RunStep.
//
//   planning  the plan of a new signature is made, on this thread if it may wait, else on the pool. Timeout
//             and cancellation end that, also while it is queued for the pool
//   begun     one RunGraph for each partition of the plan, all at the same time; the own task's last, on
//             this thread
//   failing   the first error that is not derived from another cancels the other partitions. A derived error
//             does not cancel them at once: the task that failed first is about to report the cause, and
//             cancelling it would lose its message. A timer limits that wait
//   ended     all partitions have ended. The most detailed error is the step's. The tasks are told to clean
//             up, without waiting for their answers
//
// `pending` counts partitions in progress, and one for the function that begins them.
#include "base/alloc.h"
#include "base/log.h"
#include "base/slab.h"
#include "base/strbuf.h"
#include "base/wire.h"
#include "cluster/master/master_internal.h"
#include "cluster/rpc/large_fields.h"
#include "cluster/worker/local_worker.h"
#include "runtime/cost_graph.h"
#include <inttypes.h>
#include <string.h>

// How long the root cause of an error may take to arrive after a consequence of it.
#define ROOT_CAUSE_GRACE_MS 2000

typedef struct step step;

typedef struct step_partition {
    step *step;
    const bd_master_partition *partition;
    bd_run_graph run;
    bd_run_graph_send *sends;
    braid_tensor *recvs;
    const char **recv_keys; // of the fetches of this call
    int *recv_fetches;
    bd_message stats, graphs;
    bool has_ended; // guarded by the step's mu
} step_partition;

struct step {
    bd_master_session *session; // entered, and a reference
    bd_master_plan *plan;       // a reference; NULL while planning; set under mu
    const bd_master_run_args *args;
    int *order;        // the caller's feed i is the plan's order[i]; fetches behind them
    int *feed_of_plan; // [plan_feeds] the inverse; -1: not fed in this call
    int plan_feeds;
    int64_t id, timeout_ms;
    bd_listed_step listed;        // until the step has ended
    int64_t collective_graph_key; // 0: none
    bool has_shared_id;           // that of the next step of the graph key
    const void *caller;           // of bd_master_run, as this_thread() names it
    bool wants_costs;
    bd_trace *trace;               // for which the step is traced; NULL: none
    bd_cancellation *cancellation; // below the caller's
    bd_master_done_fn fn;
    void *arg;
    bd_timer_id timeout_timer, grace_timer; // grace_timer guarded by mu
    bd_mutex mu;
    braid_status status; // guarded by mu
    int pending;         // guarded by mu
    bool is_over;        // guarded by mu
    bool is_queued;      // for the pool; guarded by mu
    bd_cancel_hook queue_hook;
    atomic_int refs; // one until the end, one for each timer, one for the queue and one for its hook
    step_partition *partitions; // [part_count]
    int partition_count;        // 0 while planning
};

// ---- The end ----

static void unref(step *s)
{
    if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
    bd_cancellation_unref(s->cancellation);
    bd_status_fini(&s->status);
    bd_mutex_fini(&s->mu);
    bd_slab_free(s->partitions);
    bd_slab_free(s->order);
    bd_slab_free(s);
}

static void end_timer(step *s, bd_timer_id timer)
{
    if (timer && bd_timer_cancel(s->session->master->env.timers, timer)) unref(s);
}

// Two parts may hold the same fetch only by a mistake of the plan; each fetch of the caller takes its value
// by reference, since the same may be asked for twice.
static void give_fetches(step *s)
{
    const bd_run_signature *signature = s->args->signature;
    for (int p = 0; p < s->partition_count; p++) {
        const step_partition *partition = &s->partitions[p];
        for (int r = 0; r < partition->run.recv_count; r++)
            for (int f = 0; f < signature->fetch_count; f++)
                if (s->order[signature->feed_count + f] == partition->recv_fetches[r])
                    bd_tensor_ref(&s->args->fetches[f], &partition->recvs[r]);
    }
}

// Concatenates the messages of all parts.
static void join_partitions(const step *s, const bd_message *(*of)(const step_partition *partition),
                            bd_message *out)
{
    bd_wire_writer writer;
    bd_message_init(out);
    bd_wire_writer_init(&writer, out);
    for (int p = 0; p < s->partition_count; p++)
        bd_large_field_put(of(&s->partitions[p]), 0, &writer);
    bd_wire_writer_finish(&writer);
}

static const bd_message *stats_of(const step_partition *partition)
{
    return &partition->stats;
}

static const bd_message *graphs_of(const step_partition *partition)
{
    return &partition->graphs;
}

// RunMetadata: step_stats = 1, cost_graph = 2, partition_graphs = 3.
static void give_metadata(const step *s)
{
    const bd_master_run_args *args = s->args;
    if (!args->metadata || (!args->wants_stats && !args->wants_partition_graphs && !s->wants_costs)) return;
    BD_STATUS(st);
    bd_message stats, graphs;
    join_partitions(s, stats_of, &stats);
    join_partitions(s, graphs_of, &graphs);
    bd_wire_writer out;
    bd_wire_writer_init(&out, args->metadata);
    if (args->wants_stats && stats.bytes) bd_large_field_put(&stats, 1, &out);
    if (s->wants_costs && bd_cost_graph_put(&stats, &graphs, 2, &out, st))
        bd_warn("No cost model of a step: %s", st->message);
    if (args->wants_partition_graphs) bd_large_field_put(&graphs, 0, &out);
    bd_wire_writer_finish(&out);
    bd_message_fini(&stats);
    bd_message_fini(&graphs);
}

static void give_trace(step *s)
{
    bd_message stats, metadata;
    bd_message_init(&metadata);
    if (!s->status.code) {
        bd_wire_writer out;
        join_partitions(s, stats_of, &stats);
        bd_wire_writer_init(&out, &metadata);
        bd_large_field_put(&stats, 1, &out);
        bd_wire_writer_finish(&out);
        bd_message_fini(&stats);
    }
    bd_master_end_trace(s->trace, s->status.code ? NULL : &metadata);
    bd_message_fini(&metadata);
}

static void clean_up(step *s)
{
    for (int p = 0; p < s->partition_count; p++) {
        step_partition *partition = &s->partitions[p];
        bd_worker *w = partition->partition->peer->worker;
        const bool goes_on = s->args->phase == BD_RUN_PARTIAL || partition->run.ends_by_itself;
        if (s->status.code || !goes_on) w->ops->cleanup_graph(w, s->id, NULL, NULL);
        for (int r = 0; r < partition->run.recv_count; r++)
            bd_tensor_fini(&partition->recvs[r]);
        bd_message_fini(&partition->stats);
        bd_message_fini(&partition->graphs);
    }
}

static void finish(step *s)
{
    bd_mutex_lock(&s->mu);
    s->is_over = true;
    const bd_timer_id grace_timer = s->grace_timer;
    bd_mutex_unlock(&s->mu);
    end_timer(s, s->timeout_timer);
    end_timer(s, grace_timer);
    if (!s->status.code) {
        give_fetches(s);
        give_metadata(s);
    }
    if (s->trace) give_trace(s);
    clean_up(s);
    s->status.derived = false; // the client sees it as the cause
    if (s->has_shared_id)
        bd_task_collectives_end_step(s->session->master->env.collectives, s->session->leader,
                                     s->collective_graph_key, s->id, s->status.code != BRAID_OK);
    bd_master_session *session = s->session;
    bd_master_plan_unref(s->plan);
    bd_master_unlist_step(session, &s->listed, s->status.code != BRAID_OK);
    s->fn(s->arg, &s->status);
    unref(s);
    bd_master_session_leave(session);
    bd_master_session_unref(session);
}

static void leave(step *s)
{
    bd_mutex_lock(&s->mu);
    const bool is_last = --s->pending == 0;
    bd_mutex_unlock(&s->mu);
    if (is_last) finish(s);
}

// ---- Errors ----

// The step ends before it has begun.
static void fail(step *s, const braid_status *why)
{
    bd_mutex_lock(&s->mu);
    bd_status_copy(&s->status, why);
    bd_mutex_unlock(&s->mu);
    finish(s);
}

static void cancel_others(step *s, const braid_status *why)
{
    BD_STATUS(consequence);
    bd_fail(consequence, BRAID_CANCELLED, "the step failed: %s", why->message ? why->message : "");
    consequence->derived = true;
    bd_cancellation_cancel(s->cancellation, consequence);
}

static void grace_is_over(void *arg)
{
    step *s = arg;
    bd_mutex_lock(&s->mu);
    const bool is_over = s->is_over;
    BD_STATUS(why);
    bd_status_copy(why, &s->status);
    bd_mutex_unlock(&s->mu);
    if (!is_over) cancel_others(s, why);
    unref(s);
}

static void start_grace_locked(step *s)
{
    if (s->grace_timer) return;
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    s->grace_timer = bd_timer_add(s->session->master->env.timers, bd_deadline_after_ms(ROOT_CAUSE_GRACE_MS),
                                  grace_is_over, s);
}

// Of two errors of a timeout the longer one has more information: the executor names the nodes that waited.
static bool is_more_detailed(const braid_status *a, const braid_status *b)
{
    return a->code == BRAID_DEADLINE_EXCEEDED && b->code == BRAID_DEADLINE_EXCEEDED &&
           a->derived == b->derived && strlen(a->message) > strlen(b->message);
}

static void partition_done(void *arg, const braid_status *st)
{
    step_partition *partition = arg;
    step *s = partition->step;
    bd_mutex_lock(&s->mu);
    partition->has_ended = true;
    if (is_more_detailed(st, &s->status))
        bd_status_copy(&s->status, st);
    else
        bd_status_update(&s->status, st);
    if (st->code && st->derived && s->pending > 1) start_grace_locked(s);
    bd_mutex_unlock(&s->mu);
    if (st->code && !st->derived) cancel_others(s, st);
    leave(s);
}

static void timed_out(void *arg)
{
    step *s = arg;
    bd_strbuf missing = {0};
    bd_mutex_lock(&s->mu);
    const bool is_over = s->is_over;
    for (int p = 0; p < s->partition_count && !is_over; p++)
        if (!s->partitions[p].has_ended)
            bd_strbuf_appendf(&missing, "%s%s", missing.len ? ", " : "",
                              s->partitions[p].partition->peer->label);
    bd_mutex_unlock(&s->mu);
    if (!is_over) {
        BD_STATUS(why);
        bd_fail(why, BRAID_DEADLINE_EXCEEDED, "The step took longer than %" PRId64 " ms", s->timeout_ms);
        if (missing.len) bd_status_suffix(why, " on %s", bd_strbuf_str(&missing));
        bd_cancellation_cancel(s->cancellation, why);
    }
    bd_strbuf_fini(&missing);
    unref(s);
}

// ---- The beginning ----

int64_t bd_master_draw_step_id_locked(bd_master_session *s)
{
    return (int64_t)(bd_rng_next(&s->rng) >> 2) + 1; // TensorFlow's ids have the two upper bits clear
}

int64_t bd_master_draw_step_id(bd_master_session *s)
{
    bd_mutex_lock(&s->mu);
    const int64_t id = bd_master_draw_step_id_locked(s);
    bd_mutex_unlock(&s->mu);
    return id;
}

// 0: none.
static int64_t timeout_of(const bd_master_session *s, const bd_master_run_args *args)
{
    const bd_master_env *env = &s->master->env;
    const int64_t of_session =
        s->operation_timeout_ms > 0 ? s->operation_timeout_ms : env->operation_timeout_ms;
    const int64_t wanted = args->timeout_ms > 0 ? args->timeout_ms : of_session;
    const int64_t most = env->step_ms_max;
    return most > 0 && (wanted <= 0 || wanted > most) ? most : wanted;
}

static bool all_take_pushes(const step *s)
{
    const bd_master_plan *plan = s->plan;
    // A pushed tensor names its step only, and the names in its key may be those of another cluster.
    bool all = plan->partition_count > 1 && s->args->phase == BD_RUN_WHOLE && !s->has_shared_id &&
               !s->session->cluster;
    for (int p = 0; all && p < plan->partition_count; p++)
        all = atomic_load_explicit(&plan->partitions[p].peer->worker->takes_pushes, memory_order_relaxed);
    return all;
}

static bool is_fetched(const step *s, int plan_fetch)
{
    const bd_run_signature *signature = s->args->signature;
    for (int f = 0; f < signature->fetch_count; f++)
        if (s->order[signature->feed_count + f] == plan_fetch) return true;
    return false;
}

// Selects the part's feeds and fetches of this call: all of them, except in a partial run.
static void set_values(step *s, step_partition *partition)
{
    const bd_master_partition *of = partition->partition;
    bd_run_graph *run = &partition->run;
    for (int i = 0; i < of->send_count; i++) {
        const int feed = s->feed_of_plan[of->send_feeds[i]];
        if (feed >= 0)
            partition->sends[run->send_count++] = (bd_run_graph_send){of->send_keys[i], s->args->feeds[feed]};
    }
    for (int i = 0; i < of->recv_count; i++) {
        if (s->args->phase != BD_RUN_WHOLE && !is_fetched(s, of->recv_fetches[i])) continue;
        partition->recv_keys[run->recv_count] = of->recv_keys[i];
        partition->recv_fetches[run->recv_count++] = of->recv_fetches[i];
    }
}

// Differs between threads.
static const void *this_thread(void)
{
    static _Thread_local char here;
    return &here;
}

// One block holds the parts and the arrays that they point to.
static void make_partitions(step *s)
{
    const bd_master_plan *plan = s->plan;
    const bool pushes = all_take_pushes(s);
    bd_worker *own = s->session->peers->self->worker;
    s->partition_count = plan->partition_count;
    size_t sends = 0, recvs = 0;
    for (int p = 0; p < plan->partition_count; p++) {
        sends += (size_t)plan->partitions[p].send_count;
        recvs += (size_t)plan->partitions[p].recv_count;
    }
    const size_t count = (size_t)plan->partition_count;
    s->partitions = bd_slab_alloc(count * sizeof(step_partition) + sends * sizeof(bd_run_graph_send) +
                                  recvs * (sizeof(braid_tensor) + sizeof(char *) + sizeof(int)));
    braid_tensor *recv = (braid_tensor *)(void *)(s->partitions + count);
    bd_run_graph_send *send = (bd_run_graph_send *)(void *)(recv + recvs);
    const char **recv_key = (const char **)(void *)(send + sends);
    int *recv_fetch = (int *)(void *)(recv_key + recvs);
    for (int p = 0; p < plan->partition_count; p++) {
        const bd_master_partition *of = &plan->partitions[p];
        step_partition *partition = &s->partitions[p];
        *partition = (step_partition){.step = s,
                                      .partition = of,
                                      .sends = send,
                                      .recvs = recv,
                                      .recv_keys = recv_key,
                                      .recv_fetches = recv_fetch};
        bd_message_init(&partition->stats);
        bd_message_init(&partition->graphs);
        partition->run = (bd_run_graph){
            .session_handle = s->session->handle,
            .graph_handle = of->graph_handle,
            .step_id = s->id,
            .sends = send,
            .recv_keys = recv_key,
            .recvs = recv,
            .wants_stats = s->args->wants_stats || s->wants_costs || s->trace,
            .wants_partition_graphs = s->args->wants_partition_graphs || s->wants_costs,
            .stats = &partition->stats,
            .partition_graphs = &partition->graphs,
            // The id of a step with collectives may come on a thread of the connection to the leader, which
            // has to go on: the members' answers come on it, too.
            .may_wait = s->args->may_wait && s->caller == this_thread(),
            .is_partial = s->args->phase != BD_RUN_WHOLE,
            .is_last_partial = s->args->phase == BD_RUN_PARTIAL_LAST,
            .pushes = pushes,
            .home = pushes ? bd_local_worker_of(own) : NULL,
        };
        set_values(s, partition);
        send += of->send_count;
        recv += of->recv_count;
        recv_key += of->recv_count;
        recv_fetch += of->recv_count;
    }
}

static void begin_partitions(step *s)
{
    if (s->args->phase == BD_RUN_WHOLE) s->trace = bd_master_take_trace(s->session->master);
    bd_mutex_lock(&s->mu);
    for (int i = 0; i < s->plan_feeds; i++)
        s->feed_of_plan[i] = -1;
    for (int i = 0; i < s->args->signature->feed_count; i++)
        s->feed_of_plan[s->order[i]] = i;
    make_partitions(s);
    s->pending = s->partition_count + 1;
    bd_mutex_unlock(&s->mu);
    for (int p = 0; p < s->partition_count; p++) {
        step_partition *partition = &s->partitions[p];
        bd_worker *w = partition->partition->peer->worker;
        w->ops->run_graph(w, &partition->run, s->cancellation, partition_done, partition);
    }
    leave(s);
}

static void id_known(void *arg, int64_t step_id, const braid_status *st)
{
    step *s = arg;
    if (st->code) {
        fail(s, st);
        return;
    }
    s->id = step_id;
    s->has_shared_id = true;
    begin_partitions(s);
}

static bool is_run_of_cost_model(const step *s, bd_master_plan *plan)
{
    const bd_master_session *session = s->session;
    if (session->cost_model_every <= 0 || s->args->phase != BD_RUN_WHOLE || s->args->keeps) return false;
    const int64_t run = atomic_fetch_add_explicit(&plan->runs, 1, memory_order_relaxed) + 1;
    return (run - session->cost_model_after) % session->cost_model_every == 0;
}

// As TensorFlow's master, this one counts the steps of the plan in place of all.
static braid_code begin_debug(const step *s, bd_master_plan *plan, braid_status *st)
{
    const int64_t number = atomic_fetch_add_explicit(&plan->debug_steps, 1, memory_order_relaxed);
    return bd_debug_begin_step(s->args->signature, s->session->master->env.fs, number, number, st);
}

// Starts the step, whose plan is made.
static void begin(step *s, bd_master_plan *plan)
{
    s->wants_costs = is_run_of_cost_model(s, plan);
    bd_mutex_lock(&s->mu);
    s->plan = plan;
    bd_mutex_unlock(&s->mu);
    const bd_master_session *session = s->session;
    BD_STATUS(st);
    if (s->args->collective_graph_key)
        s->collective_graph_key = s->args->collective_graph_key;
    else
        s->collective_graph_key = plan->collective_graph_key;
    if (s->args->keeps) {
        *s->args->keeps = bd_pinned_plan_new(s->args->signature, plan, s->order);
        finish(s);
    } else if (s->args->signature->debug && begin_debug(s, plan, st)) {
        fail(s, st);
    } else if (s->collective_graph_key && s->args->phase == BD_RUN_WHOLE) {
        bd_task_collectives_begin_step(session->master->env.collectives, session->leader,
                                       s->collective_graph_key, s->cancellation, id_known, s);
    } else {
        begin_partitions(s);
    }
}

static void begin_kept(step *s)
{
    const bd_run_signature *signature = s->args->signature;
    for (int i = 0; i < signature->feed_count + signature->fetch_count; i++)
        s->order[i] = s->args->kept_order[i];
    begin(s, bd_master_plan_ref(s->args->kept->plan));
}

// ---- Planning ----

static void make_plan(step *s)
{
    const bd_run_signature *signature = s->args->signature;
    void *plan;
    BD_STATUS(st);
    if (bd_plan_cache_get(s->session->plans, signature, s->cancellation, &plan, s->order, st))
        fail(s, st);
    else
        begin(s, plan);
}

// Removes the step from the queue. Returns false when another thread has: the pool's, or the one that cancels
// it.
static bool take_from_queue(step *s)
{
    bd_mutex_lock(&s->mu);
    const bool is_mine = s->is_queued;
    s->is_queued = false;
    bd_mutex_unlock(&s->mu);
    return is_mine;
}

static void cancelled_in_queue(bd_cancel_hook *hook, const braid_status *why)
{
    step *s = BD_CONTAINER_OF(hook, step, queue_hook);
    if (take_from_queue(s)) fail(s, why);
    unref(s);
}

static void drop_hook(step *s)
{
    if (bd_cancellation_remove(s->cancellation, &s->queue_hook)) unref(s);
}

static void run_queued(void *arg)
{
    step *s = arg;
    if (take_from_queue(s)) {
        drop_hook(s);
        make_plan(s);
    }
    unref(s);
}

static void queue(step *s)
{
    BD_STATUS(st);
    s->is_queued = true;
    s->queue_hook.fn = cancelled_in_queue;
    atomic_fetch_add_explicit(&s->refs, 2, memory_order_relaxed);
    if (!bd_cancellation_add(s->cancellation, &s->queue_hook)) {
        bd_cancellation_status(s->cancellation, st);
        cancelled_in_queue(&s->queue_hook, st);
    } else if (bd_thread_pool_submit(s->session->master->env.pool, run_queued, s)) {
        return;
    } else if (take_from_queue(s)) {
        drop_hook(s);
        bd_fail(st, BRAID_CANCELLED, "The server is stopping");
        fail(s, st);
    }
    unref(s); // that of the queue
}

static void start_timeout(step *s)
{
    s->timeout_ms = timeout_of(s->session, s->args);
    if (s->timeout_ms <= 0) return;
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    s->timeout_timer =
        bd_timer_add(s->session->master->env.timers, bd_deadline_after_ms(s->timeout_ms), timed_out, s);
}

static step *step_new(bd_master_session *session, const bd_master_run_args *args,
                      bd_cancellation *cancellation)
{
    const size_t feeds = (size_t)args->signature->feed_count, fetches = (size_t)args->signature->fetch_count;
    step *s = bd_slab_alloc(sizeof *s);
    s->session = session;
    s->args = args;
    s->plan_feeds = args->kept ? args->kept->signature.feed_count : args->signature->feed_count;
    s->order = bd_slab_alloc((feeds + fetches + (size_t)s->plan_feeds) * sizeof *s->order);
    s->feed_of_plan = s->order + feeds + fetches;
    s->listed = (bd_listed_step){.step.id = args->step_id,
                                 .is_counted = !args->keeps && args->phase != BD_RUN_PARTIAL};
    s->cancellation = bd_cancellation_new(cancellation);
    bd_mutex_init(&s->mu);
    atomic_init(&s->refs, 1);
    return s;
}

void bd_master_run(bd_master_session *session, const bd_master_run_args *args, bd_cancellation *cancellation,
                   bd_master_done_fn fn, void *arg)
{
    BD_STATUS(st);
    step *s = step_new(session, args, cancellation);
    if (!bd_master_session_enter(session, &s->listed, st)) {
        unref(s);
        fn(arg, st);
        return;
    }
    bd_master_session_ref(session);
    s->id = s->listed.step.id;
    s->caller = this_thread();
    s->fn = fn;
    s->arg = arg;
    start_timeout(s);
    void *plan;
    if (args->kept)
        begin_kept(s);
    else if (bd_plan_cache_try_get(session->plans, args->signature, &plan, s->order))
        begin(s, plan);
    else if (args->may_wait)
        make_plan(s);
    else
        queue(s);
}
