// Monitored sessions: opening, the step with its hooks, the sticky error, closing.
//
// A step fetches what the program asked for, the global step, and what hooks asked for, each output once.
#include "train/monitored_session.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/log.h"
#include "train/bootstrap.h"
#include <braid/ops.h>
#include <braid/variables.h>
#include <string.h>

struct braid_monitored_session {
    braid_session *session; // NULL when it could not be opened
    BD_ARRAY(braid_hook *) hooks;
    braid_out global_step; // op NULL: the graph has none
    int64_t global_step_value;
    bool stop;
    braid_status status; // the first error
    // Of the step in progress; kept to be used again.
    BD_ARRAY(braid_out) outs;          // what it fetches, each once
    BD_ARRAY(braid_tensor *) values;   // [outs]
    BD_ARRAY(braid_fetch) fetches;     // [outs]
    BD_ARRAY(int) hook_fetches;        // positions in outs, those of the first hook first
    BD_ARRAY(int) hook_counts;         // [hooks]
    BD_ARRAY(braid_tensor *) borrowed; // values of one hook's fetches
};

// ---- Errors ----

// Keeps the first error; the input's end only asks to stop.
static braid_code keep(braid_monitored_session *s, const braid_status *st)
{
    if (st->code && !s->status.code) bd_status_copy(&s->status, st);
    if (st->code) s->stop = true;
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

// ---- The global step ----

static int64_t integer_of(const braid_tensor *t)
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
    braid_code code =
        braid_session_run(s->session, &(braid_run_args){.fetches = &fetch, .fetch_count = 1}, st);
    if (code) return code;
    s->global_step_value = integer_of(value);
    braid_tensor_free(value);
    return BRAID_OK;
}

// ---- Opening ----

static braid_code find_global_step(braid_monitored_session *s, const braid_graph *g, braid_status *st)
{
    s->global_step = braid_find_global_step(g);
    if (!s->global_step.op) return BRAID_OK;
    braid_dtype dtype = braid_out_dtype(s->global_step);
    if (dtype > 100) dtype = (braid_dtype)(dtype - 100);
    if (dtype == BRAID_INT32 || dtype == BRAID_INT64) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "The global step '%s' is %s, not an int32 or int64",
                   braid_op_name(s->global_step.op), braid_dtype_name(dtype));
}

static braid_code open_session(braid_monitored_session *s, braid_graph *g, const braid_session_config *config,
                               braid_status *st)
{
    train_bootstrap boot = {
        .is_chief = config->is_chief, .wait_timeout_ms = config->wait_timeout_ms, .init_op = config->init_op};
    for (size_t i = 0; i < s->hooks.len; i++) {
        braid_hook *h = s->hooks.items[i];
        if (h->begin) h->begin(h, g);
    }
    train_bootstrap_build(&boot, g);
    braid_code code = braid_graph_status(g, st);
    if (code) return code;
    code = find_global_step(s, g, st);
    if (code) return code;
    s->session = braid_session_open(g, &config->session, st);
    if (!s->session) return st->code;
    code = train_bootstrap_run(&boot, s->session, st);
    if (code) return code;
    code = train_read_global_step(s, st);
    for (size_t i = 0; i < s->hooks.len && !code; i++) {
        braid_hook *h = s->hooks.items[i];
        if (h->after_create_session) code = h->after_create_session(h, s, st);
    }
    return code;
}

braid_monitored_session *braid_monitored_session_open(braid_graph *g, const braid_session_config *config)
{
    static const braid_session_config defaults = {.is_chief = true};
    if (!config) config = &defaults;
    braid_monitored_session *s = bd_calloc(1, sizeof *s);
    s->global_step_value = -1;
    for (braid_hook *const *h = config->hooks; h && *h; h++)
        bd_array_push(&s->hooks, *h);
    BD_STATUS(st);
    open_session(s, g, config, st);
    keep(s, st);
    return s;
}

// ---- Steps ----

// The position of `out` in what the step fetches; added when it is new.
static int position_of(braid_monitored_session *s, braid_out out)
{
    for (size_t i = 0; i < s->outs.len; i++) {
        if (s->outs.items[i].op == out.op && s->outs.items[i].index == out.index) return (int)i;
    }
    bd_array_push(&s->outs, out);
    return (int)s->outs.len - 1;
}

static void collect_fetches(braid_monitored_session *s, const braid_fetch *fetches, bool with_hooks)
{
    s->outs.len = s->hook_fetches.len = s->hook_counts.len = 0;
    for (const braid_fetch *f = fetches; f && f->out.op; f++)
        position_of(s, f->out);
    if (!with_hooks) return;
    if (s->global_step.op) position_of(s, s->global_step);
    for (size_t i = 0; i < s->hooks.len; i++) {
        braid_hook *h = s->hooks.items[i];
        braid_out wanted[BRAID_HOOK_FETCH_MAX];
        int count = h->before_run ? h->before_run(h, s, wanted) : 0;
        for (int k = 0; k < count; k++)
            bd_array_push(&s->hook_fetches, position_of(s, wanted[k]));
        bd_array_push(&s->hook_counts, count);
    }
}

static braid_code run_session(braid_monitored_session *s, const braid_feed *feeds, braid_op *target,
                              braid_status *st)
{
    int feed_count = 0;
    while (feeds && feeds[feed_count].out.op)
        feed_count++;
    bd_array_reserve(&s->values, s->outs.len);
    bd_array_reserve(&s->fetches, s->outs.len);
    for (size_t i = 0; i < s->outs.len; i++) {
        s->values.items[i] = NULL;
        s->fetches.items[i] = (braid_fetch){s->outs.items[i], &s->values.items[i]};
    }
    braid_run_args args = {.feeds = feeds,
                           .feed_count = feed_count,
                           .fetches = s->fetches.items,
                           .fetch_count = (int)s->outs.len,
                           .targets = &target,
                           .target_count = target ? 1 : 0};
    return braid_session_run(s->session, &args, st);
}

static braid_code call_after_run(braid_monitored_session *s, braid_status *st)
{
    const int *position = s->hook_fetches.items;
    for (size_t i = 0; i < s->hooks.len; i++) {
        braid_hook *h = s->hooks.items[i];
        s->borrowed.len = 0;
        for (int k = 0; k < s->hook_counts.items[i]; k++)
            bd_array_push(&s->borrowed, s->values.items[*position++]);
        braid_code code = h->after_run ? h->after_run(h, s, s->borrowed.items, st) : BRAID_OK;
        if (code) return code;
    }
    return BRAID_OK;
}

// One run, with the hooks around it or without.
static braid_code run(braid_monitored_session *s, const braid_feed *feeds, const braid_fetch *fetches,
                      braid_op *target, bool with_hooks)
{
    if (s->status.code) return s->status.code;
    BD_STATUS(st);
    collect_fetches(s, fetches, with_hooks);
    if (run_session(s, feeds, target, st)) return keep(s, st);
    if (with_hooks) {
        if (s->global_step.op)
            s->global_step_value = integer_of(s->values.items[position_of(s, s->global_step)]);
        call_after_run(s, st);
    }
    for (const braid_fetch *f = fetches; f && f->out.op && !st->code; f++)
        *f->value = braid_tensor_copy(s->values.items[position_of(s, f->out)]);
    for (size_t i = 0; i < s->outs.len; i++)
        braid_tensor_free(s->values.items[i]);
    return keep(s, st);
}

braid_code braid_run(braid_monitored_session *s, const braid_feed *feeds, const braid_fetch *fetches,
                     braid_op *target)
{
    return run(s, feeds, fetches, target, true);
}

braid_code braid_evaluate(braid_monitored_session *s, const braid_feed *feeds, const braid_fetch *fetches)
{
    return run(s, feeds, fetches, NULL, false);
}

// ---- Closing ----

static void free_session(braid_monitored_session *s)
{
    for (size_t i = 0; i < s->hooks.len; i++) {
        if (s->hooks.items[i]->free) s->hooks.items[i]->free(s->hooks.items[i]);
    }
    bd_array_free(&s->hooks);
    bd_array_free(&s->outs);
    bd_array_free(&s->values);
    bd_array_free(&s->fetches);
    bd_array_free(&s->hook_fetches);
    bd_array_free(&s->hook_counts);
    bd_array_free(&s->borrowed);
    bd_status_fini(&s->status);
    bd_free(s);
}

braid_code braid_monitored_session_close(braid_monitored_session *s)
{
    if (!s) return BRAID_OK;
    for (size_t i = 0; i < s->hooks.len && !s->status.code; i++) {
        braid_hook *h = s->hooks.items[i];
        if (h->end) h->end(h, s);
    }
    BD_STATUS(st);
    braid_session_close(s->session, st);
    keep(s, st);
    braid_code code = s->status.code == BRAID_OUT_OF_RANGE ? BRAID_OK : s->status.code;
    if (code) bd_error_log("%s: %s", braid_code_name(code), braid_status_message(&s->status));
    free_session(s);
    return code;
}
