// Monitored sessions: opening, recovery, the error that ends training, closing.
//
// Recovery: a step that ends with Aborted or Unavailable has lost a task of the cluster. The session is
// closed, a new one is opened, which waits for the missing tasks for the grace time, the chief restores the
// variables that have lost their values, each hook's after_create_session is called again, and the step is
// run again. A step that a hook runs does not recover: its error reaches the outer step through the hook.
#include "train/sessions/monitored_session.h"
#include "train/sessions/coordinator.h"
#include "train/sessions/queue_runner.h"
#include "train/sessions/sync_replicas.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/wait_limits.h"
#include <braid/hooks.h>
#include <braid/ops.h>
#include <braid/server.h>
#include <braid/variables.h>
#include <string.h>

#define MAX_RECOVERIES_DEFAULT 10

// ---- Errors ----

static braid_code keep_any(braid_monitored_session *s, const braid_status *st)
{
    if (st->code && !s->status.code) bd_status_copy(&s->status, st);
    if (st->code) s->stop = true;
    return st->code;
}

// Keeps the first error. Once the session is open, OutOfRange is not an error: the input has ended, which
// requests a stop.
static braid_code keep(braid_monitored_session *s, const braid_status *st)
{
    if (st->code != BRAID_OUT_OF_RANGE) return keep_any(s, st);
    s->stop = true;
    return st->code;
}

braid_code braid_monitored_session_status(const braid_monitored_session *s, braid_status *status)
{
    if (status) bd_status_copy(status, &s->status);
    return s->status.code;
}

void braid_monitored_session_fail(braid_monitored_session *s, const braid_status *status)
{
    keep(s, status);
}

bool braid_should_stop(const braid_monitored_session *s)
{
    return s->stop;
}

void braid_request_stop(braid_monitored_session *s)
{
    s->stop = true;
}

braid_session *braid_monitored_session_raw(braid_monitored_session *s)
{
    return s->session;
}

int64_t braid_monitored_session_global_step(const braid_monitored_session *s)
{
    return s->global_step_value;
}

int braid_exit_code(braid_code code)
{
    return code == BRAID_OK ? 0 : 1;
}

bool braid_is_chief(const braid_cluster *cluster, const char *job, int index)
{
    if (!cluster || braid_cluster_num_jobs(cluster) == 0) return true;
    static const char *const chiefs[] = {"chief", "master", "worker"};
    for (size_t i = 0; i < sizeof chiefs / sizeof chiefs[0]; i++) {
        if (braid_cluster_num_tasks(cluster, chiefs[i]) > 0)
            return job && strcmp(job, chiefs[i]) == 0 &&
                   index == braid_cluster_task_index(cluster, chiefs[i], 0);
    }
    return false;
}

// ---- Losses that threads of hooks see ----

static void note_loss(braid_monitored_session *s, const braid_status *why, bool for_good)
{
    bd_mutex_lock(&s->mu);
    const bool is_first = s->lost.code == BRAID_OK;
    if (is_first) bd_status_copy(&s->lost, why);
    if (is_first) s->lost_for_good = for_good;
    bd_mutex_unlock(&s->mu);
}

void train_session_lost(braid_monitored_session *s, const braid_status *why, bool for_good)
{
    note_loss(s, why, for_good);
    braid_session_cancel(s->session); // lives until the threads of hooks have ended
}

// Whether another session may help against an error.
static bool is_recoverable(braid_code code)
{
    return code == BRAID_ABORTED || code == BRAID_UNAVAILABLE;
}

void train_session_lead(braid_monitored_session *s, bool leads)
{
    BD_STATUS(why);
    bd_fail(why, BRAID_ABORTED, "%s",
            leads ? "The chief is gone for good: this worker takes its place"
                  : "The chief is back: this worker gives its place back");
    bd_mutex_lock(&s->mu);
    s->leads_next = leads;
    bd_mutex_unlock(&s->mu);
    train_session_lost(s, why, false);
}

bool braid_monitored_session_is_chief(const braid_monitored_session *s)
{
    return s->boot.is_chief;
}

// Replaces the error of a call by the reason why the session is lost, if it is. Returns whether another
// session may help.
static bool explain(braid_monitored_session *s, braid_status *st)
{
    bd_mutex_lock(&s->mu);
    if (s->lost.code) bd_status_copy(st, &s->lost);
    const bool for_good = s->lost_for_good;
    bd_mutex_unlock(&s->mu);
    return is_recoverable(st->code) && s->max_recoveries > 0 && !for_good;
}

// A thread of the coordinator has asked to stop: its error is the session's. Consumers in other processes
// that wait for the queues of this one learn of it, unless a recovery goes on filling them.
static void coordinator_stopped(void *arg, const braid_status *why)
{
    braid_monitored_session *s = arg;
    if (!why->code || !s->session) return;
    note_loss(s, why, false); // before a step can see that its queue is closed
    if (!is_recoverable(why->code)) train_queue_runners_cancel(s->graph, s->session);
    braid_session_cancel(s->session);
}

braid_coordinator *braid_monitored_session_coordinator(braid_monitored_session *s)
{
    return s->coordinator;
}

// ---- The global step ----

int64_t train_step_of(const braid_tensor *t)
{
    switch (braid_tensor_dtype(t)) {
    case BRAID_INT32: return *(const int32_t *)braid_tensor_data(t);
    case BRAID_INT64: return *(const int64_t *)braid_tensor_data(t);
    default: return -1;
    }
}

braid_code train_read_global_step(braid_monitored_session *s, braid_status *st)
{
    if (!s->global_step.op) return BRAID_OK;
    braid_tensor *value = NULL;
    braid_fetch fetch = {s->global_step, &value};
    const braid_code code =
        braid_session_run(s->session, &(braid_run_args){.fetches = &fetch, .fetch_count = 1}, st);
    if (code) return code;
    s->global_step_value = train_step_of(value);
    braid_tensor_free(value);
    return BRAID_OK;
}

static braid_code find_global_step(braid_monitored_session *s, braid_status *st)
{
    s->global_step = braid_find_global_step(s->graph);
    if (!s->global_step.op) return BRAID_OK;
    braid_dtype dtype = braid_out_dtype(s->global_step);
    if (dtype > 100) dtype = (braid_dtype)(dtype - 100);
    if (dtype == BRAID_INT32 || dtype == BRAID_INT64) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "The global step '%s' is %s, not an int32 or int64",
                   braid_op_name(s->global_step.op), braid_dtype_name(dtype));
}

// ---- Opening ----

// Opens a session, brings the variables to their values, and calls the hooks.
static braid_code open_session(braid_monitored_session *s, int64_t timeout_ms, braid_status *st)
{
    braid_session_options options = s->options;
    if (!options.open_timeout_ms) options.open_timeout_ms = timeout_ms;
    s->session = braid_session_open(s->graph, &options, st);
    if (!s->session) return st->code;
    const int64_t reached = s->global_step_value;
    braid_code code = train_bootstrap_run(&s->boot, s->session, st);
    s->leads_next = s->boot.is_chief; // no thread of a hook is there yet
    if (!code) code = train_read_global_step(s, st);
    if (!code && s->global_step_value < reached) s->stop = false; // the steps since are made again
    if (!code) code = train_queue_runners_start(s->graph, s->session, s->coordinator, st);
    for (size_t i = 0; i < s->hooks.len && !code; i++) {
        braid_hook *h = s->hooks.items[i];
        if (h->after_create_session) code = h->after_create_session(h, s, st);
    }
    return code;
}

static bool in_this_process(const braid_session_options *o)
{
    return !o->server && (!o->target || !o->target[0]);
}

static char *keep_string(braid_monitored_session *s, const char *text)
{
    if (!text) return NULL;
    char *copy = bd_strdup(text);
    bd_array_push(&s->strings, copy);
    return copy;
}

braid_hook braid_hook_list;

// Takes a hook of the chief; frees it in a process that never leads.
static void add_leader_hook(braid_monitored_session *s, braid_hook *h)
{
    if (s->boot.is_chief)
        bd_array_push(&s->hooks, h);
    else if (s->boot.may_lead)
        bd_array_push(&s->hooks, train_hook_of_leader(h));
    else if (h->free)
        h->free(h);
}

// Takes the hooks of a list.
static void add_hooks(braid_monitored_session *s, braid_hook *const *list, bool of_chief)
{
    if (!list) return;
    braid_hook *const end = list[0] == &braid_hook_list ? &braid_hook_list : NULL;
    for (braid_hook *const *h = list + (end != NULL); *h != end; h++) {
        if (!*h) continue;
        if (of_chief) {
            add_leader_hook(s, *h);
            continue;
        }
        bd_array_push(&s->hooks, *h);
        s->boot.may_lead = s->boot.may_lead || (!s->boot.is_chief && train_sync_may_lead(*h));
    }
}

static void copy_config(braid_monitored_session *s, const braid_session_config *c)
{
    s->options = c->session;
    s->options.target = keep_string(s, c->session.target);
    const int filters = c->session.device_filter_count;
    s->filters = bd_calloc((size_t)(filters > 0 ? filters : 0) + 1, sizeof *s->filters);
    for (int i = 0; i < filters; i++)
        s->filters[i] = keep_string(s, c->session.device_filters[i]);
    s->options.device_filters = s->filters;
    s->max_recoveries = c->max_recoveries ? c->max_recoveries : MAX_RECOVERIES_DEFAULT;
    s->stop_grace_ms = c->stop_grace_period_ms;
    s->boot = (train_bootstrap){.is_chief = c->is_chief || in_this_process(&c->session),
                                .wait_timeout_ms = c->wait_timeout_ms,
                                .scaffold = c->scaffold,
                                .checkpoint_dir = keep_string(s, c->checkpoint_dir)};
    add_hooks(s, c->hooks, false);
    add_hooks(s, c->chief_only_hooks, true);
    s->leads_next = s->boot.is_chief;
}

// The chief of a session with a directory for checkpoints saves these and summaries there.
static void add_checkpoints(braid_monitored_session *s, const braid_session_config *c)
{
    if (!c->checkpoint_dir || !(s->boot.is_chief || s->boot.may_lead)) return;
    if (!s->boot.scaffold.saver)
        s->boot.scaffold.saver = braid_saver_new(
            s->graph, &(braid_saver_options){.sharded = true, .asynchronous = true, .policy = c->keep});
    if (c->save_checkpoint_steps > 0 || c->save_checkpoint_seconds >= 0)
        add_leader_hook(s, braid_checkpoint_saver(
                               &(braid_checkpoint_saver_options){.dir = c->checkpoint_dir,
                                                                 .saver = s->boot.scaffold.saver,
                                                                 .every_seconds = c->save_checkpoint_seconds,
                                                                 .every_steps = c->save_checkpoint_steps}));
    const double every_seconds = c->save_summaries_seconds;
    if (every_seconds > 0 || c->save_summaries_steps >= 0)
        add_leader_hook(s, braid_summary_saver(&(braid_summary_saver_options){
                               .dir = c->checkpoint_dir,
                               .summary = c->scaffold.summary,
                               .every_steps = every_seconds > 0 ? 0 : c->save_summaries_steps,
                               .every_seconds = every_seconds}));
    if (c->log_step_count_steps < 0) return;
    add_leader_hook(s, braid_step_counter(&(braid_step_counter_options){
                           .dir = c->checkpoint_dir, .every_steps = c->log_step_count_steps}));
}

// ---- Recovery ----

// Ends the threads of the coordinator, whose calls of the session have been cancelled.
static void end_threads(braid_monitored_session *s)
{
    BD_STATUS(st);
    braid_coordinator_request_stop(s->coordinator, NULL);
    if (braid_coordinator_join(s->coordinator, s->stop_grace_ms, st) == BRAID_DEADLINE_EXCEEDED)
        bd_warn("%s", braid_status_message(st));
    braid_coordinator_clear_stop(s->coordinator);
}

static void close_session(braid_monitored_session *s, braid_status *st)
{
    if (!s->session) return;
    braid_session_cancel(s->session);
    for (size_t i = 0; i < s->hooks.len; i++) {
        braid_hook *h = s->hooks.items[i];
        if (h->before_close_session) h->before_close_session(h, s);
    }
    end_threads(s);
    braid_session_close(s->session, st);
    s->session = NULL;
    braid_status_clear(&s->lost); // no thread of a hook is left
    s->lost_for_good = false;
    s->boot.is_chief = s->leads_next;
}

static braid_code reopen(braid_monitored_session *s, braid_status *st)
{
    int64_t grace_ms;
    if (bd_grace_ms(&grace_ms, st)) return st->code;
    BD_STATUS(ignored); // the session has failed anyway
    close_session(s, ignored);
    return open_session(s, grace_ms, st);
}

// Replaces the session that has failed with `lost`. Returns whether there is another; else *lost is the error
// that ends training.
static bool recover(braid_monitored_session *s, braid_status *lost)
{
    for (;;) {
        if (s->recoveries == s->max_recoveries) {
            bd_status_prefix(lost,
                             "Lost the session %d times without a step in between: ", s->recoveries + 1);
            return false;
        }
        s->recoveries++;
        bd_warn("Lost the session at global step %lld: %s: %s. Opening another (%d of at most %d)",
                (long long)s->global_step_value, braid_code_name(lost->code), braid_status_message(lost),
                s->recoveries, s->max_recoveries);
        BD_STATUS(st);
        if (!reopen(s, st)) {
            bd_info("Training goes on at global step %lld", (long long)s->global_step_value);
            return true;
        }
        const bool may_help = explain(s, st);
        if (!may_help) bd_status_prefix(st, "After %s: ", braid_status_message(lost));
        bd_status_copy(lost, st);
        if (!may_help) return false;
    }
}

// ---- The first session ----

static braid_code build(braid_monitored_session *s, const braid_session_config *config, braid_status *st)
{
    add_checkpoints(s, config);
    for (size_t i = 0; i < s->hooks.len; i++) {
        braid_hook *h = s->hooks.items[i];
        if (h->begin) h->begin(h, s->graph);
        train_sync_hook_prepare(h, &s->boot);
    }
    braid_scaffold_finalize(&s->boot.scaffold, s->graph);
    if (braid_graph_status(s->graph, st)) return st->code;
    return find_global_step(s, st);
}

// A task that is lost before the session is ready is waited for as one that is lost later. A target that
// cannot be reached fails at once.
static void open_first(braid_monitored_session *s, braid_status *st)
{
    int64_t timeout_ms;
    if (bd_start_timeout_ms(&timeout_ms, st)) return;
    if (!s->boot.wait_timeout_ms) s->boot.wait_timeout_ms = timeout_ms;
    if (!open_session(s, timeout_ms, st)) return;
    if (explain(s, st) && (s->session || s->options.server) && recover(s, st)) braid_status_clear(st);
}

braid_monitored_session *braid_monitored_session_open(braid_graph *g, const braid_session_config *config)
{
    static const braid_session_config defaults;
    if (!config) config = &defaults;
    braid_monitored_session *s = bd_calloc(1, sizeof *s);
    s->graph = g;
    bd_mutex_init(&s->mu);
    s->coordinator = braid_coordinator_new();
    train_coordinator_on_stop(s->coordinator, coordinator_stopped, s);
    s->global_step_value = -1;
    copy_config(s, config);
    BD_STATUS(st);
    if (!build(s, config, st)) open_first(s, st);
    keep_any(s, st);
    return s;
}

// ---- Steps ----

// Asks the hooks for more when the input of a step has ended. An error of theirs replaces that of the step.
static bool has_more_input(braid_monitored_session *s, braid_status *st)
{
    bool more = false;
    for (size_t i = 0; i < s->hooks.len; i++) {
        braid_hook *h = s->hooks.items[i];
        BD_STATUS(own);
        if (!h->input_ended || !h->input_ended(h, s, &more, own)) continue;
        bd_status_copy(st, own);
        return false;
    }
    return more;
}

static braid_code run(braid_monitored_session *s, const train_step *step)
{
    if (s->status.code) return s->status.code;
    for (;;) {
        BD_STATUS(st);
        s->runs++;
        train_step_run(s, step, st);
        s->runs--;
        if (!st->code) s->recoveries = 0;
        if (st->code == BRAID_OUT_OF_RANGE && step->with_hooks && !s->stop && has_more_input(s, st)) continue;
        if (!st->code || s->status.code || !explain(s, st)) return keep(s, st);
        if (s->runs > 0) return st->code;
        if (!recover(s, st)) return keep_any(s, st);
        if (s->stop) return BRAID_OK; // others have finished the work meanwhile
    }
}

braid_code braid_run(braid_monitored_session *s, const braid_feed *feeds, const braid_fetch *fetches,
                     braid_op *target)
{
    return run(s, &(train_step){feeds, fetches, target, .with_hooks = true});
}

braid_code braid_evaluate(braid_monitored_session *s, const braid_feed *feeds, const braid_fetch *fetches)
{
    return run(s, &(train_step){feeds, fetches, NULL, .with_hooks = false});
}

// ---- Closing ----

static void free_session(braid_monitored_session *s)
{
    for (size_t i = 0; i < s->hooks.len; i++)
        if (s->hooks.items[i]->free) s->hooks.items[i]->free(s->hooks.items[i]);
    bd_array_free(&s->hooks);
    for (size_t i = 0; i < s->strings.len; i++)
        bd_free(s->strings.items[i]);
    bd_array_free(&s->strings);
    bd_free(s->filters);
    train_step_lists_free(&s->spare);
    braid_coordinator_free(s->coordinator);
    bd_mutex_fini(&s->mu);
    bd_status_fini(&s->lost);
    bd_status_fini(&s->status);
    bd_free(s);
}

// The program makes no more steps: training that has gone back fails.
static bool recover_at_end(braid_monitored_session *s, braid_status *st)
{
    const int64_t reached = s->global_step_value;
    if (!explain(s, st) || !recover(s, st)) return false;
    if (s->global_step_value >= reached) return true;
    bd_status_prefix(st, "Training has gone back from global step %lld to %lld after its last step: ",
                     (long long)reached, (long long)s->global_step_value);
    return false;
}

// A session that is lost meanwhile, while the last checkpoint is saved, say, is replaced as during a step.
static void end_hook(braid_monitored_session *s, braid_hook *h)
{
    s->boot.restores_first = false; // no step is left that an update could belong to
    for (;;) {
        BD_STATUS(st);
        if (!h->end(h, s, st)) return;
        if (recover_at_end(s, st)) continue;
        keep_any(s, st);
        return;
    }
}

static void end_hooks(braid_monitored_session *s)
{
    for (size_t i = 0; i < s->hooks.len; i++) {
        braid_hook *h = s->hooks.items[i];
        if (s->status.code) {
            if (h->failed) h->failed(h, s, &s->status);
        } else if (h->end) {
            end_hook(s, h);
        }
    }
}

braid_code braid_monitored_session_close(braid_monitored_session *s)
{
    if (!s) return BRAID_OK;
    BD_STATUS(st);
    if (!is_recoverable(braid_coordinator_status(s->coordinator, st))) keep_any(s, st);
    end_hooks(s);
    if (s->session && !is_recoverable(s->status.code)) train_queue_runners_cancel(s->graph, s->session);
    braid_status_clear(st);
    close_session(s, st);
    keep_any(s, st);
    const braid_code code = s->status.code;
    if (code && s->options.server) braid_server_failed(s->options.server);
    if (code) bd_error_log("%s: %s", braid_code_name(code), braid_status_message(&s->status));
    free_session(s);
    return code;
}
