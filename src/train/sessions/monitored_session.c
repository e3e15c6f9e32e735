// Monitored sessions: opening, steps, the error that ends training, closing.
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

bool braid_monitored_session_is_chief(const braid_monitored_session *s)
{
    return s->request.role.is_chief;
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
    int reads;
    const braid_out *read = braid_collection(s->graph, BRAID_GLOBAL_STEP_READ, &reads);
    s->global_step = reads ? read[0] : braid_find_global_step(s->graph);
    if (!s->global_step.op) return BRAID_OK;
    braid_dtype dtype = braid_out_dtype(s->global_step);
    if (dtype > 100) dtype = (braid_dtype)(dtype - 100);
    if (dtype == BRAID_INT32 || dtype == BRAID_INT64) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "The global step '%s' is %s, not an int32 or int64",
                   braid_op_name(s->global_step.op), braid_dtype_name(dtype));
}

// ---- The first session ----

static braid_code build(braid_monitored_session *s, braid_status *st)
{
    for (size_t i = 0; i < s->hooks.len; i++) {
        braid_hook *h = s->hooks.items[i];
        if (h->begin) h->begin(h, s->graph);
        train_sync_hook_prepare(h, &s->request.role);
    }
    if (!s->creator->create_session)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "The session creator has no create_session");
    if (s->creator->begin) s->creator->begin(s->creator, s->graph);
    if (braid_graph_status(s->graph, st)) return st->code;
    return find_global_step(s, st);
}

// A task that is lost before the session is ready is waited for as one that is lost later. A target that
// cannot be reached fails at once.
static void open_first(braid_monitored_session *s, braid_status *st)
{
    int64_t timeout_ms;
    if (bd_start_timeout_ms(&timeout_ms, st)) return;
    if (!train_session_open(s, timeout_ms, st)) return;
    if (train_session_explain(s, st) && !s->request.is_unreachable && train_session_recover(s, st))
        braid_status_clear(st);
}

braid_monitored_session *braid_monitored_session_open(braid_graph *g, const braid_session_config *config)
{
    static const braid_session_config defaults;
    if (!config) config = &defaults;
    braid_monitored_session *s = bd_calloc(1, sizeof *s);
    s->graph = g;
    bd_mutex_init(&s->mu);
    s->coordinator = braid_coordinator_new();
    train_coordinator_on_stop(s->coordinator, train_session_thread_stopped, s);
    s->global_step_value = -1;
    train_session_configure(s, config);
    BD_STATUS(st);
    if (!build(s, st)) open_first(s, st);
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

// One try of a step, in the session as it is.
typedef void (*attempt_fn)(braid_monitored_session *s, const void *step, braid_status *st);

static void attempt_step(braid_monitored_session *s, const void *arg, braid_status *st)
{
    const train_step *step = arg;
    while (train_step_run(s, step, st) == BRAID_OUT_OF_RANGE) {
        if (!step->with_hooks || s->stop || !has_more_input(s, st)) return;
        braid_status_clear(st);
    }
}

static braid_code run(braid_monitored_session *s, attempt_fn attempt, const void *step)
{
    if (s->status.code) return s->status.code;
    for (;;) {
        BD_STATUS(st);
        s->runs++;
        attempt(s, step, st);
        s->runs--;
        if (!st->code) s->recoveries = 0;
        if (!st->code || s->status.code || !train_session_explain(s, st)) return keep(s, st);
        if (s->runs > 0) return st->code;
        if (!train_session_recover(s, st)) return keep_any(s, st);
        if (s->stop) return BRAID_OK; // others have finished the work meanwhile
    }
}

braid_code braid_run(braid_monitored_session *s, const braid_feed *feeds, const braid_fetch *fetches,
                     braid_op *target)
{
    return braid_run_with_options(s, feeds, fetches, target, NULL);
}

braid_code braid_run_with_options(braid_monitored_session *s, const braid_feed *feeds,
                                  const braid_fetch *fetches, braid_op *target,
                                  const braid_run_options *options)
{
    const train_step step = {feeds, fetches, target, .with_hooks = true, .options = options};
    return run(s, attempt_step, &step);
}

braid_code braid_evaluate(braid_monitored_session *s, const braid_feed *feeds, const braid_fetch *fetches)
{
    return run(s, attempt_step, &(train_step){feeds, fetches, NULL, .with_hooks = false});
}

// ---- Step functions ----

struct braid_step_context {
    braid_monitored_session *session;
};

typedef struct step_function {
    braid_step_fn fn;
    void *arg;
} step_function;

static void attempt_function(braid_monitored_session *s, const void *step, braid_status *st)
{
    const step_function *f = step;
    const braid_code code = f->fn(&(braid_step_context){s}, f->arg, st);
    if (!code) braid_status_clear(st); // of an error that it has dealt with
    if (code && !st->code) bd_fail(st, code, "The step function has failed and does not say why");
}

braid_code braid_run_step_fn(braid_monitored_session *s, braid_step_fn fn, void *arg)
{
    return run(s, attempt_function, &(step_function){fn, arg});
}

braid_session *braid_step_session(const braid_step_context *c)
{
    return c->session->session;
}

braid_code braid_step_run(braid_step_context *c, const braid_feed *feeds, const braid_fetch *fetches,
                          braid_op *target, const braid_run_options *options, braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    attempt_step(c->session, &(train_step){feeds, fetches, target, .with_hooks = true, .options = options},
                 st);
    return st->code;
}

void braid_step_request_stop(braid_step_context *c)
{
    braid_request_stop(c->session);
}

// ---- Closing ----

static void free_session(braid_monitored_session *s)
{
    for (size_t i = 0; i < s->hooks.len; i++)
        if (s->hooks.items[i]->free) s->hooks.items[i]->free(s->hooks.items[i]);
    bd_array_free(&s->hooks);
    if (s->creator->free) s->creator->free(s->creator);
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
    if (!train_session_explain(s, st) || !train_session_recover(s, st)) return false;
    if (s->global_step_value >= reached) return true;
    bd_status_prefix(st, "Training has gone back from global step %lld to %lld after its last step: ",
                     (long long)reached, (long long)s->global_step_value);
    return false;
}

// A session that is lost meanwhile, while the last checkpoint is saved, say, is replaced as during a step.
static void end_hook(braid_monitored_session *s, braid_hook *h)
{
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
    if (!train_is_recoverable(braid_coordinator_status(s->coordinator, st))) keep_any(s, st);
    end_hooks(s);
    if (s->session && !train_is_recoverable(s->status.code)) train_queue_runners_cancel(s->graph, s->session);
    braid_status_clear(st);
    train_session_close(s, st);
    keep_any(s, st);
    const braid_code code = s->status.code;
    if (code && s->server) braid_server_failed(s->server);
    if (code) bd_error_log("%s: %s", braid_code_name(code), braid_status_message(&s->status));
    free_session(s);
    return code;
}
