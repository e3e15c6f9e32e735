// Supervisors: a session manager, a coordinator, and the services that run as loops of its threads.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "train/sessions/monitored_session.h"
#include <braid/checkpoint.h>
#include <braid/event_writer.h>
#include <braid/queue_runner.h>
#include <braid/server.h>
#include <braid/session_manager.h>
#include <braid/summary.h>
#include <braid/supervisor.h>
#include <braid/variables.h>

#define SAVE_MODEL_DEFAULT_SECS 600
#define SAVE_SUMMARIES_DEFAULT_SECS 120

struct braid_supervisor {
    braid_graph *graph;
    braid_session_manager manager;
    bool is_chief, writes_events;
    char *logdir, *save_path; // NULL: no services; save_path: LOGDIR/BASENAME
    double save_model_secs, save_summaries_secs;
    int64_t stop_grace_ms;
    braid_out global_step; // op NULL: none
    braid_coordinator *coordinator;
    bool has_stopped;           // braid_supervisor_stop was called for the last session
    braid_session *session;     // NULL before it is open
    braid_event_writer *writer; // the chief's with a logdir, if it writes events
    int64_t rate_step, rate_ns; // of the last call of count_steps; its thread's
};

static double seconds_or(double seconds, double default_seconds)
{
    return seconds != 0 ? seconds : default_seconds; // exactly 0: not given
}

braid_supervisor *braid_supervisor_new(braid_graph *g, const braid_supervisor_options *o)
{
    static const braid_supervisor_options defaults;
    if (!o) o = &defaults;
    braid_supervisor *sv = bd_calloc(1, sizeof *sv);
    sv->graph = g;
    sv->is_chief = o->is_chief || (!o->session.server && (!o->session.target || !o->session.target[0]));
    sv->writes_events = o->logdir && sv->is_chief && !o->no_event_file;
    sv->stop_grace_ms = o->stop_grace_period_ms;
    sv->save_model_secs = seconds_or(o->save_model_secs, SAVE_MODEL_DEFAULT_SECS);
    sv->save_summaries_secs = seconds_or(o->save_summaries_secs, SAVE_SUMMARIES_DEFAULT_SECS);
    sv->coordinator = braid_coordinator_new();
    if (o->logdir) {
        sv->logdir = bd_strdup(o->logdir);
        sv->save_path =
            bd_asprintf("%s/%s", o->logdir, o->checkpoint_basename ? o->checkpoint_basename : "model.ckpt");
    }
    sv->manager = (braid_session_manager){.session = o->session,
                                          .scaffold = o->scaffold,
                                          .checkpoint_dir = sv->logdir,
                                          .wait_timeout_ms = o->wait_timeout_ms};
    sv->global_step = o->global_step.op ? o->global_step : braid_find_global_step(g);
    if (!sv->manager.scaffold.saver && sv->logdir)
        sv->manager.scaffold.saver = braid_saver_new(g, NULL); // not sharded, as TensorFlow's
    if (!sv->manager.scaffold.summary.op) sv->manager.scaffold.summary = braid_summary_merge_all(g);
    braid_scaffold_finalize(&sv->manager.scaffold, g);
    return sv;
}

// ---- The global step ----

// Fetches the global step (-1 without one) and another output (op NULL: none; its value is the caller's).
static braid_code fetch(const braid_supervisor *sv, int64_t *step, braid_out out, braid_tensor **value,
                        braid_status *st)
{
    *step = -1;
    braid_tensor *step_value = NULL;
    braid_fetch fetches[2];
    int count = 0;
    if (sv->global_step.op) fetches[count++] = (braid_fetch){sv->global_step, &step_value};
    if (out.op) fetches[count++] = (braid_fetch){out, value};
    if (!count) return BRAID_OK;
    const braid_run_args args = {.fetches = fetches, .fetch_count = count};
    if (braid_session_run(sv->session, &args, st)) return st->code;
    if (step_value) *step = train_step_of(step_value);
    braid_tensor_free(step_value);
    return BRAID_OK;
}

// ---- Services ----

static braid_code save_model(braid_coordinator *c, void *arg, braid_status *st)
{
    (void)c;
    braid_supervisor *sv = arg;
    int64_t step;
    if (fetch(sv, &step, (braid_out){0}, NULL, st)) return st->code;
    bd_free(braid_saver_save(sv->manager.scaffold.saver, sv->session, sv->save_path, step, st));
    BD_STATUS(unwanted);
    if (!st->code && sv->writer)
        braid_event_writer_add_session_log(sv->writer, BRAID_SESSION_LOG_CHECKPOINT, sv->save_path, step,
                                           unwanted);
    return st->code;
}

static braid_code save_summaries(braid_coordinator *c, void *arg, braid_status *st)
{
    (void)c;
    braid_supervisor *sv = arg;
    int64_t step;
    braid_tensor *summary = NULL;
    if (fetch(sv, &step, sv->manager.scaffold.summary, &summary, st)) return st->code;
    size_t len;
    const char *bytes = braid_tensor_string_at(summary, 0, &len);
    braid_event_writer_add_summary(sv->writer, bytes, len, step, st);
    braid_tensor_free(summary);
    return st->code;
}

static braid_code count_steps(braid_coordinator *c, void *arg, braid_status *st)
{
    (void)c;
    braid_supervisor *sv = arg;
    int64_t step;
    if (fetch(sv, &step, (braid_out){0}, NULL, st)) return st->code;
    const int64_t now_ns = bd_now_ns();
    const double rate = (double)(step - sv->rate_step) / ((double)(now_ns - sv->rate_ns) / 1e9);
    const bool is_first = sv->rate_ns == 0;
    sv->rate_step = step;
    sv->rate_ns = now_ns;
    if (is_first) return BRAID_OK;
    bd_info("global_step/sec: %.6g", rate);
    return braid_event_writer_add_scalar(sv->writer, "global_step/sec", (float)rate, step, st);
}

static braid_code check_services(const braid_supervisor *sv, braid_status *st)
{
    const char *why = !sv->session    ? "there is no session yet"
                      : !sv->is_chief ? "this process is not the chief"
                      : !sv->logdir   ? "there is no logdir"
                                      : NULL;
    return why ? bd_fail(st, BRAID_FAILED_PRECONDITION, "The services of a supervisor cannot start: %s", why)
               : BRAID_OK;
}

static void start_service(braid_supervisor *sv, const char *name, braid_coordinated_fn fn,
                          double every_seconds, braid_status *st)
{
    const braid_looper looper = {.name = name, .fn = fn, .arg = sv, .every_seconds = every_seconds};
    braid_looper_start(sv->coordinator, &looper, st);
}

// What the threads write to the event file.
static braid_code start_summaries(braid_supervisor *sv, braid_status *st)
{
    int64_t step;
    if (fetch(sv, &step, (braid_out){0}, NULL, st)) return st->code;
    braid_event_writer_add_session_log(sv->writer, BRAID_SESSION_LOG_START, NULL, step, st);
    if (sv->save_summaries_secs <= 0) return st->code;
    if (!st->code && sv->manager.scaffold.summary.op)
        start_service(sv, "braid-save-summaries", save_summaries, sv->save_summaries_secs, st);
    if (!st->code && sv->global_step.op)
        start_service(sv, "braid-count-steps", count_steps, sv->save_summaries_secs, st);
    return st->code;
}

braid_code braid_supervisor_start_standard_services(braid_supervisor *sv, braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    if (check_services(sv, st)) return st->code;
    if (sv->writer) start_summaries(sv, st);
    if (!st->code && sv->save_model_secs > 0)
        start_service(sv, "braid-save-model", save_model, sv->save_model_secs, st);
    return st->code;
}

// ---- The session ----

static braid_code open_events(braid_supervisor *sv, braid_status *st)
{
    sv->writer = braid_event_writer_open(sv->logdir, st);
    size_t len;
    void *graph = st->code ? NULL : braid_graph_export(sv->graph, &len, st);
    if (graph) braid_event_writer_add_graph(sv->writer, graph, len, 0, st);
    bd_free(graph);
    return st->code;
}

static braid_code write_graph(braid_supervisor *sv, braid_status *st)
{
    if (!sv->logdir || !sv->is_chief) return BRAID_OK;
    if (braid_checkpoint_make_dir(sv->logdir, st)) return st->code;
    char *path = bd_asprintf("%s/graph.pbtxt", sv->logdir);
    braid_graph_write(sv->graph, path, st);
    bd_free(path);
    return st->code || !sv->writes_events ? st->code : open_events(sv, st);
}

braid_session *braid_supervisor_prepare_or_wait_for_session(braid_supervisor *sv, braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    if (sv->session) {
        bd_fail(st, BRAID_FAILED_PRECONDITION, "The supervisor has a session already");
        return NULL;
    }
    if (sv->has_stopped) braid_coordinator_clear_stop(sv->coordinator);
    sv->has_stopped = false;
    sv->session = sv->is_chief ? braid_prepare_session(sv->graph, &sv->manager, st)
                               : braid_wait_for_session(sv->graph, &sv->manager, st);
    return sv->session && !write_graph(sv, st) ? sv->session : NULL;
}

braid_session *braid_supervisor_managed_session(braid_supervisor *sv, braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    if (!braid_supervisor_prepare_or_wait_for_session(sv, st)) return NULL;
    if (sv->is_chief && sv->logdir) braid_supervisor_start_standard_services(sv, st);
    if (!st->code) braid_start_queue_runners(sv->graph, sv->session, sv->coordinator, st);
    return st->code ? NULL : sv->session;
}

// ---- Threads of the program, and the end ----

braid_code braid_supervisor_loop(braid_supervisor *sv, const braid_looper *looper, braid_status *st)
{
    return braid_looper_start(sv->coordinator, looper, st);
}

braid_code braid_supervisor_summary_computed(braid_supervisor *sv, const char *summary, size_t len,
                                             int64_t step, braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    if (!sv->writer)
        return bd_fail(st, BRAID_FAILED_PRECONDITION, "The supervisor of this process has no event file");
    if (step < 0 && fetch(sv, &step, (braid_out){0}, NULL, st)) return st->code;
    return braid_event_writer_add_summary(sv->writer, summary, len, step, st);
}

bool braid_supervisor_should_stop(const braid_supervisor *sv)
{
    return braid_coordinator_should_stop(sv->coordinator);
}

void braid_supervisor_request_stop(braid_supervisor *sv, const braid_status *why)
{
    braid_coordinator_request_stop(sv->coordinator, why);
}

bool braid_supervisor_wait_for_stop(braid_supervisor *sv, int64_t timeout_ms)
{
    return braid_coordinator_wait_for_stop(sv->coordinator, timeout_ms);
}

braid_coordinator *braid_supervisor_coordinator(braid_supervisor *sv)
{
    return sv->coordinator;
}

braid_event_writer *braid_supervisor_summary_writer(braid_supervisor *sv)
{
    return sv->writer;
}

// A save may need the session to end, a queue closes by itself: threads get the grace time, then the session
// is cancelled.
static void end_threads(braid_supervisor *sv, braid_status *st)
{
    braid_coordinator_request_stop(sv->coordinator, NULL);
    if (braid_coordinator_join(sv->coordinator, sv->stop_grace_ms, st) != BRAID_DEADLINE_EXCEEDED) return;
    if (!sv->session) return;
    BD_STATUS(ignored); // the same threads
    braid_session_cancel(sv->session);
    braid_coordinator_join(sv->coordinator, sv->stop_grace_ms, ignored);
}

static void close_writer(braid_supervisor *sv)
{
    if (!sv->writer) return;
    BD_STATUS(st);
    braid_event_writer_add_session_log(sv->writer, BRAID_SESSION_LOG_STOP, NULL, 0, st);
    braid_status_clear(st);
    if (braid_event_writer_close(sv->writer, st)) bd_warn("%s", braid_status_message(st));
    sv->writer = NULL;
}

braid_code braid_supervisor_stop(braid_supervisor *sv, braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    end_threads(sv, st);
    sv->has_stopped = true;
    close_writer(sv);
    BD_STATUS(closed);
    if (braid_session_close(sv->session, closed) && !st->code) bd_status_copy(st, closed);
    sv->session = NULL;
    sv->rate_ns = 0;
    if (st->code && sv->manager.session.server) braid_server_failed(sv->manager.session.server);
    return st->code;
}

braid_code braid_supervisor_close(braid_supervisor *sv, braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    if (!sv) return BRAID_OK;
    const braid_code code = braid_supervisor_stop(sv, st);
    braid_coordinator_free(sv->coordinator);
    bd_free(sv->logdir);
    bd_free(sv->save_path);
    bd_free(sv);
    return code;
}
