// The hook of training algorithms: after each period of steps it makes the exchange, and it measures.
#include "train/algorithms/algorithm.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "train/sessions/monitored_session.h"
#include <braid/ops.h>
#include <braid/server.h>

typedef struct algorithm_hook {
    braid_hook hook;
    braid_algorithm *a;
    int steps;      // since the last exchange
    int64_t run_ns; // when the step in progress began
} algorithm_hook;

static double seconds_since(int64_t ns)
{
    return (double)(bd_now_ns() - ns) / 1e9;
}

// ---- Exchanges ----

// An exchange pulls, unless the algorithm makes its own. The copies contain this worker's own updates.
static void note_update(braid_algorithm *a, int64_t counted)
{
    train_report_update(&a->report, counted - a->pulled - a->own_since_pull);
    a->own_since_pull++;
    if (a->type->exchange) return;
    a->pulled = counted + 1;
    a->own_since_pull = 0;
}

braid_code train_run_exchange(braid_algorithm *a, braid_monitored_session *s, braid_out also,
                              braid_tensor **value, braid_status *st)
{
    braid_tensor *fetched = NULL;
    const braid_fetch fetches[] = {{a->fetched, &fetched}, {also, value}};
    const braid_run_args args = {
        .fetches = fetches, .fetch_count = also.op ? 2 : 1, .targets = &a->exchange, .target_count = 1};
    if (braid_session_run(s->session, &args, st)) return st->code;
    const int64_t step = train_step_of(fetched);
    braid_tensor_free(fetched);
    if (a->sync)
        train_report_update(&a->report, 0);
    else
        note_update(a, step);
    s->global_step_value = a->sync ? step : step + 1;
    return BRAID_OK;
}

braid_code train_run_pull(braid_algorithm *a, braid_session *s, braid_status *st)
{
    braid_tensor *value = NULL;
    braid_fetch fetch = {a->pull_step, &value};
    const braid_run_args args = {.fetches = &fetch, .fetch_count = 1, .targets = &a->pull, .target_count = 1};
    if (braid_session_run(s, &args, st)) return st->code;
    a->pulled = train_step_of(value);
    a->own_since_pull = 0;
    braid_tensor_free(value);
    return BRAID_OK;
}

braid_code braid_algorithm_pull(braid_algorithm *a, braid_monitored_session *s)
{
    BD_STATUS(st);
    if (!a->pull || !s->session || braid_monitored_session_status(s, st)) return st->code;
    if (train_run_pull(a, s->session, st)) braid_monitored_session_fail(s, st);
    return st->code;
}

// The end of the tokens of a synchronous exchange is the end of training.
static braid_code exchange(braid_algorithm *a, braid_monitored_session *s, braid_status *st)
{
    const int64_t begun = bd_now_ns();
    const braid_code code =
        a->type->exchange ? a->type->exchange(a, s, st) : train_run_exchange(a, s, BRAID_NONE, NULL, st);
    a->report.own.waiting += seconds_since(begun);
    if (code != BRAID_OUT_OF_RANGE) return code;
    braid_status_clear(st);
    braid_request_stop(s);
    return BRAID_OK;
}

// ---- The hook ----

static void begin(braid_hook *hook, braid_graph *g)
{
    const algorithm_hook *h = (algorithm_hook *)hook;
    if (!h->a->train && !braid_graph_status(g, NULL))
        braid_graph_fail(g, BRAID_FAILED_PRECONDITION,
                         "Training algorithm '%s' has no step: build it by braid_algorithm_minimize or "
                         "braid_algorithm_apply before the session",
                         h->a->type->info.name);
}

static int64_t bytes_of(const braid_monitored_session *s)
{
    return s->server ? braid_server_tensor_bytes(s->server) : 0;
}

static bool is_real(braid_out loss)
{
    return loss.op && (braid_out_dtype(loss) == BRAID_FLOAT || braid_out_dtype(loss) == BRAID_DOUBLE);
}

static braid_code after_create_session(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    algorithm_hook *h = (algorithm_hook *)hook;
    braid_algorithm *a = h->a;
    h->steps = 0;
    a->pulled = s->global_step_value;
    a->own_since_pull = 0;
    train_report_open(&a->report, a->summary_dir);
    if (is_real(a->loss) && !a->curve) a->curve = train_curve_open(a->o.worker);
    return a->type->begin ? a->type->begin(a, st) : BRAID_OK;
}

static braid_code before_run(braid_hook *hook, braid_monitored_session *s, braid_hook_request *request,
                             braid_status *st)
{
    (void)st;
    algorithm_hook *h = (algorithm_hook *)hook;
    const braid_algorithm *a = h->a;
    h->run_ns = bd_now_ns();
    if (!a->report.begun_ns) {
        h->a->report.begun_ns = h->run_ns;
        h->a->report.bytes_begun = bytes_of(s);
    }
    if (a->curve) braid_hook_fetch(request, a->loss);
    if (a->type->info.has_copies) return BRAID_OK;
    braid_hook_fetch(request, a->compute_begin);
    braid_hook_fetch(request, a->compute_end);
    if (a->sync) return BRAID_OK;
    braid_hook_fetch(request, a->next_step);
    braid_hook_fetch(request, a->fetched);
    return BRAID_OK;
}

static double number_of(const braid_tensor *scalar)
{
    return *(const double *)braid_tensor_data(scalar);
}

// A step of an algorithm without copies is an update. The count of an asynchronous one is newer than the
// global step that was fetched with it.
static void note_shared_step(const algorithm_hook *h, braid_monitored_session *s, braid_tensor *const *values)
{
    train_report *r = &h->a->report;
    train_report_step(r, seconds_since(h->run_ns) - (number_of(values[1]) - number_of(values[0])));
    if (h->a->sync) {
        train_report_update(r, 0);
        return;
    }
    const int64_t counted = train_step_of(values[3]);
    train_report_update(r, counted + 1 - train_step_of(values[2]));
    s->global_step_value = bd_max(s->global_step_value, counted + 1);
}

static double loss_of(const braid_tensor *scalar)
{
    return braid_tensor_dtype(scalar) == BRAID_DOUBLE ? number_of(scalar)
                                                      : (double)*(const float *)braid_tensor_data(scalar);
}

// Gradients that came too late have made no update.
static braid_code count_dropped(braid_algorithm *a, braid_session *s, braid_status *st)
{
    if (!a->dropped.op) return BRAID_OK;
    braid_tensor *value = NULL;
    braid_fetch fetch = {a->dropped, &value};
    if (braid_session_run(s, &(braid_run_args){.fetches = &fetch, .fetch_count = 1}, st)) return st->code;
    a->report.own.dropped = *(const int32_t *)braid_tensor_data(value);
    a->report.own.updates = a->report.own.steps - a->report.own.dropped;
    a->report.own.staleness[0] = a->report.own.updates;
    braid_tensor_free(value);
    return BRAID_OK;
}

static braid_code after_run(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                            braid_status *st)
{
    algorithm_hook *h = (algorithm_hook *)hook;
    braid_algorithm *a = h->a;
    if (a->curve) values++;
    if (!a->type->info.has_copies) {
        note_shared_step(h, s, values);
    } else {
        train_report_step(&a->report, 0);
        if (++h->steps >= a->o.period) {
            h->steps = 0;
            if (exchange(a, s, st)) return st->code;
        }
    }
    a->report.own.seconds = seconds_since(a->report.begun_ns);
    a->report.own.bytes = bytes_of(s) - a->report.bytes_begun;
    if (a->curve) train_curve_step(a->curve, &a->report.own, loss_of(values[-1]));
    if (!train_report_wants_summaries(&a->report)) return BRAID_OK;
    if (count_dropped(a, s->session, st)) return st->code;
    train_report_summaries(&a->report, s->global_step_value);
    return BRAID_OK;
}

static braid_code end(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    braid_algorithm *a = ((algorithm_hook *)hook)->a;
    if (count_dropped(a, s->session, st)) return st->code;
    train_curve_close(a->curve, &a->report.own);
    a->curve = NULL;
    train_report_summaries(&a->report, s->global_step_value);
    if (!a->o.is_chief) return train_report_send(&a->report, s->session, st);
    train_report_gather(&a->report, s->session, a->o.num_workers);
    train_report_log(&a->report, a->type->info.name);
    return BRAID_OK;
}

static void release(braid_hook *hook)
{
    bd_free(hook);
}

braid_hook *braid_algorithm_hook(braid_algorithm *a)
{
    algorithm_hook *h = bd_calloc(1, sizeof *h);
    h->hook = (braid_hook){.begin = begin,
                           .after_create_session = after_create_session,
                           .before_run = before_run,
                           .after_run = after_run,
                           .end = end,
                           .free = release};
    h->a = a;
    return &h->hook;
}

braid_hook *braid_algorithm_sync_hook(braid_algorithm *a)
{
    // No tokens in advance: no worker computes a gradient before the update that it is to come after.
    return a->sync ? braid_sync_replicas_hook(a->sync, a->o.is_chief, 0) : NULL;
}
