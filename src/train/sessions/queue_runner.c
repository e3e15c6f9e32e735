// Queue runners: their ops, and the threads that run these.
//
// The threads of a runner in a session share a record of their runs. The thread that is the last to see the
// end of its input closes the queue. The last thread to end, for whatever reason, frees the record.
#include "train/sessions/queue_runner.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/status.h"
#include <braid/graph.h>
#include <string.h>

#define CLOSE_TIMEOUT_MS 10000 // closing a queue waits for nothing but the network

struct train_queue_runs {
    braid_queue_runner *runner;
    braid_session *session;
    int running; // threads; guarded by the runner's mu
};

// ---- Building ----

static void release(void *arg)
{
    braid_queue_runner *r = arg;
    bd_array_free(&r->enqueue_ops);
    bd_array_free(&r->closed_codes);
    bd_array_free(&r->runs);
    bd_mutex_fini(&r->mu);
    bd_free(r);
}

static braid_op *close_op(braid_graph *g, braid_out queue, bool cancels)
{
    const char *path = braid_op_name(queue.op), *slash = strrchr(path, '/');
    char *name = bd_asprintf("%s_Close", slash ? slash + 1 : path);
    const bool is_resource = braid_out_dtype(queue) == BRAID_RESOURCE;
    braid_op_desc *d = braid_op_begin(g, is_resource ? "QueueCloseV2" : "QueueClose", name);
    bd_free(name);
    braid_op_input(d, queue);
    if (cancels) braid_op_attr_bool(d, "cancel_pending_enqueues", true);
    return braid_op_end(d);
}

static braid_code check(const braid_out queue, const braid_queue_runner_options *o, braid_status *st)
{
    if (!queue.op) return bd_fail(st, BRAID_INVALID_ARGUMENT, "A queue runner without a queue");
    const char *name = braid_op_name(queue.op);
    if (!o || o->enqueue_op_count < 1 || !o->enqueue_ops)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "The runner of queue '%s' has no enqueue op", name);
    for (int i = 0; i < o->enqueue_op_count; i++)
        if (!o->enqueue_ops[i])
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "Enqueue op %d of the runner of queue '%s' is NULL", i,
                           name);
    if (o->closed_code_count < 0 || (o->closed_code_count && !o->closed_codes))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "The runner of queue '%s' has %d codes of closed queues",
                       name, o->closed_code_count);
    return BRAID_OK;
}

braid_queue_runner *braid_queue_runner_new(braid_graph *g, braid_out queue,
                                           const braid_queue_runner_options *o)
{
    BD_STATUS(st);
    if (braid_graph_status(g, NULL)) return NULL;
    if (check(queue, o, st)) {
        braid_graph_fail(g, st->code, "%s", braid_status_message(st));
        return NULL;
    }
    braid_queue_runner *r = bd_calloc(1, sizeof *r);
    bd_mutex_init(&r->mu);
    braid_graph_own(g, r, release);
    r->queue = queue.op;
    for (int i = 0; i < o->enqueue_op_count; i++)
        bd_array_push(&r->enqueue_ops, o->enqueue_ops[i]);
    for (int i = 0; i < o->closed_code_count; i++)
        bd_array_push(&r->closed_codes, o->closed_codes[i]);
    if (!o->closed_code_count) bd_array_push(&r->closed_codes, BRAID_OUT_OF_RANGE);
    r->close = o->close_op ? o->close_op : close_op(g, queue, false);
    r->cancel = o->cancel_op ? o->cancel_op : close_op(g, queue, true);
    return braid_graph_status(g, NULL) ? NULL : r;
}

void braid_add_queue_runner(braid_graph *g, braid_queue_runner *runner)
{
    braid_collect_object(g, BRAID_QUEUE_RUNNERS, runner);
}

// ---- Threads ----

typedef struct enqueuing {
    train_queue_runs *runs;
    braid_callable *enqueue;
} enqueuing;

static void close_queue(const braid_queue_runner *r, braid_session *session, braid_op *op)
{
    BD_STATUS(st);
    const braid_run_args args = {.targets = &op, .target_count = 1, .timeout_ms = CLOSE_TIMEOUT_MS};
    if (braid_session_run(session, &args, st) && st->code != BRAID_CANCELLED)
        bd_warn("Queue '%s' could not be closed: %s", braid_op_name(r->queue), braid_status_message(st));
}

static bool says_closed(const braid_queue_runner *r, braid_code code)
{
    for (size_t i = 0; i < r->closed_codes.len; i++)
        if (r->closed_codes.items[i] == code) return true;
    return false;
}

static void leave(train_queue_runs *runs, bool input_has_ended)
{
    braid_queue_runner *r = runs->runner;
    bd_mutex_lock(&r->mu);
    const bool is_last = --runs->running == 0;
    for (size_t i = 0; is_last && i < r->runs.len; i++)
        if (r->runs.items[i] == runs) r->runs.items[i] = r->runs.items[--r->runs.len];
    bd_mutex_unlock(&r->mu);
    if (!is_last) return;
    if (input_has_ended) close_queue(r, runs->session, r->close);
    bd_free(runs);
}

static braid_code run_enqueues(braid_coordinator *c, void *arg, braid_status *st)
{
    const enqueuing e = *(enqueuing *)arg;
    bd_free(arg);
    while (!braid_coordinator_should_stop(c) && !braid_callable_run(e.enqueue, NULL, NULL, NULL, st)) {}
    braid_callable_free(e.enqueue);
    const bool is_closed = st->code && says_closed(e.runs->runner, st->code);
    leave(e.runs, is_closed);
    if (is_closed) braid_status_clear(st);
    return st->code;
}

// The record of new runs; NULL when threads of this session are running.
static train_queue_runs *add_runs(braid_queue_runner *r, braid_session *session)
{
    bd_mutex_lock(&r->mu);
    train_queue_runs *runs = NULL;
    bool is_running = false;
    for (size_t i = 0; i < r->runs.len; i++)
        is_running |= r->runs.items[i]->session == session;
    if (!is_running) {
        runs = bd_calloc(1, sizeof *runs);
        *runs = (train_queue_runs){.runner = r, .session = session, .running = (int)r->enqueue_ops.len};
        bd_array_push(&r->runs, runs);
    }
    bd_mutex_unlock(&r->mu);
    return runs;
}

static braid_code start_enqueues(train_queue_runs *runs, braid_op *op, braid_coordinator *c, braid_status *st)
{
    const braid_signature signature = {.targets = &op, .target_count = 1};
    braid_callable *enqueue = braid_callable_new(runs->session, &signature, NULL, st);
    if (!enqueue) return st->code;
    enqueuing *e = bd_calloc(1, sizeof *e);
    *e = (enqueuing){runs, enqueue};
    const braid_code code = braid_coordinator_start(c, braid_op_name(op), run_enqueues, e, st);
    if (code) {
        braid_callable_free(enqueue);
        bd_free(e);
    }
    return code;
}

// Starts the threads that enqueue; *is_new is false when they are running already.
static braid_code start(braid_queue_runner *r, braid_session *session, braid_coordinator *c, bool *is_new,
                        braid_status *st)
{
    train_queue_runs *runs = add_runs(r, session);
    *is_new = runs != NULL;
    if (!runs) return BRAID_OK;
    size_t started = 0;
    while (started < r->enqueue_ops.len && !start_enqueues(runs, r->enqueue_ops.items[started], c, st))
        started++;
    for (size_t i = started; i < r->enqueue_ops.len; i++)
        leave(runs, false);
    return st->code;
}

// ---- The end ----

typedef struct closing {
    braid_queue_runner *runner;
    braid_session *session;
} closing;

static braid_code close_on_stop(braid_coordinator *c, void *arg, braid_status *st)
{
    (void)st;
    const closing *l = arg;
    braid_coordinator_wait_for_stop(c, -1);
    close_queue(l->runner, l->session, l->runner->cancel);
    bd_free(arg);
    return BRAID_OK;
}

braid_code braid_queue_runner_start(braid_queue_runner *runner, braid_session *session, braid_coordinator *c,
                                    braid_status *st)
{
    if (!runner || !session || !c)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "A queue runner needs a session and a coordinator");
    bool is_new;
    if (start(runner, session, c, &is_new, st) || !is_new) return st->code;
    closing *l = bd_calloc(1, sizeof *l);
    *l = (closing){runner, session};
    if (braid_coordinator_start(c, braid_op_name(runner->cancel), close_on_stop, l, st)) bd_free(l);
    return st->code;
}

braid_code braid_start_queue_runners(const braid_graph *g, braid_session *session, braid_coordinator *c,
                                     braid_status *st)
{
    int count;
    void *const *runners = braid_collection_objects(g, BRAID_QUEUE_RUNNERS, &count);
    for (int i = 0; i < count && !st->code; i++)
        braid_queue_runner_start(runners[i], session, c, st);
    return st->code;
}

// ---- For monitored sessions, which close the queues themselves ----

braid_code train_queue_runners_start(const braid_graph *g, braid_session *session, braid_coordinator *c,
                                     braid_status *st)
{
    int count;
    void *const *runners = braid_collection_objects(g, BRAID_QUEUE_RUNNERS, &count);
    bool is_new;
    for (int i = 0; i < count && !st->code; i++)
        start(runners[i], session, c, &is_new, st);
    return st->code;
}

void train_queue_runners_cancel(const braid_graph *g, braid_session *session)
{
    int count;
    void *const *runners = braid_collection_objects(g, BRAID_QUEUE_RUNNERS, &count);
    for (int i = 0; i < count; i++)
        close_queue(runners[i], session, ((braid_queue_runner *)runners[i])->cancel);
}
