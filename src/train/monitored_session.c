// Monitored sessions: opening, the step with its hooks, the sticky error, closing.
//
// A step fetches the program's fetches, the global step, and the hooks' fetches, each output once.
#include "train/monitored_session.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/log.h"
#include "train/bootstrap.h"
#include <braid/ops.h>
#include <braid/variables.h>
#include <string.h>

// The lists of one step. Empty at the start, except for their memory.
typedef struct step_scratch {
    BD_ARRAY(braid_out) outs;          // the fetched outputs, each once
    BD_ARRAY(braid_tensor *) values;   // [outs]
    BD_ARRAY(braid_fetch) fetches;     // [outs]
    BD_ARRAY(int) hook_fetches;        // indices into outs; those of the first hook are first
    BD_ARRAY(int) hook_counts;         // [hooks]
    BD_ARRAY(braid_tensor *) borrowed; // values of one hook's fetches
} step_scratch;

struct braid_monitored_session {
    braid_session *session; // NULL when it could not be opened
    BD_ARRAY(braid_hook *) hooks;
    braid_out global_step; // op NULL: the graph has none
    int64_t global_step_value;
    bool stop;
    braid_status status; // the first error
    // memory for the next step; a step in progress has its own, because hooks may run others
    step_scratch spare;
};

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
    keep_any(s, st);
    return s;
}

// ---- Steps ----

static void free_scratch(step_scratch *c)
{
    bd_array_free(&c->outs);
    bd_array_free(&c->values);
    bd_array_free(&c->fetches);
    bd_array_free(&c->hook_fetches);
    bd_array_free(&c->hook_counts);
    bd_array_free(&c->borrowed);
}

static step_scratch take_scratch(braid_monitored_session *s)
{
    step_scratch c = s->spare;
    s->spare = (step_scratch){0};
    c.outs.len = c.hook_fetches.len = c.hook_counts.len = 0;
    return c;
}

static void give_scratch(braid_monitored_session *s, step_scratch *c)
{
    free_scratch(&s->spare); // of a step that a hook ran meanwhile
    s->spare = *c;
}

// The index of `out` in the step's fetches; added when it is new.
static int position_of(step_scratch *c, braid_out out)
{
    for (size_t i = 0; i < c->outs.len; i++) {
        if (c->outs.items[i].op == out.op && c->outs.items[i].index == out.index) return (int)i;
    }
    bd_array_push(&c->outs, out);
    return (int)c->outs.len - 1;
}

static void collect_fetches(braid_monitored_session *s, step_scratch *c, const braid_fetch *fetches,
                            bool with_hooks)
{
    for (const braid_fetch *f = fetches; f && f->out.op; f++)
        position_of(c, f->out);
    if (!with_hooks) return;
    if (s->global_step.op) position_of(c, s->global_step);
    for (size_t i = 0; i < s->hooks.len; i++) {
        braid_hook *h = s->hooks.items[i];
        braid_out wanted[BRAID_HOOK_FETCH_MAX];
        int count = h->before_run ? h->before_run(h, s, wanted) : 0;
        for (int k = 0; k < count; k++)
            bd_array_push(&c->hook_fetches, position_of(c, wanted[k]));
        bd_array_push(&c->hook_counts, count);
    }
}

static braid_code run_session(braid_monitored_session *s, step_scratch *c, const braid_feed *feeds,
                              braid_op *target, braid_status *st)
{
    int feed_count = 0;
    while (feeds && feeds[feed_count].out.op)
        feed_count++;
    bd_array_reserve(&c->values, c->outs.len);
    bd_array_reserve(&c->fetches, c->outs.len);
    for (size_t i = 0; i < c->outs.len; i++) {
        c->values.items[i] = NULL;
        c->fetches.items[i] = (braid_fetch){c->outs.items[i], &c->values.items[i]};
    }
    braid_run_args args = {.feeds = feeds,
                           .feed_count = feed_count,
                           .fetches = c->fetches.items,
                           .fetch_count = (int)c->outs.len,
                           .targets = &target,
                           .target_count = target ? 1 : 0};
    return braid_session_run(s->session, &args, st);
}

static braid_code call_after_run(braid_monitored_session *s, step_scratch *c, braid_status *st)
{
    const int *position = c->hook_fetches.items;
    for (size_t i = 0; i < s->hooks.len; i++) {
        braid_hook *h = s->hooks.items[i];
        c->borrowed.len = 0;
        for (int k = 0; k < c->hook_counts.items[i]; k++)
            bd_array_push(&c->borrowed, c->values.items[*position++]);
        braid_code code = h->after_run ? h->after_run(h, s, c->borrowed.items, st) : BRAID_OK;
        if (code) return code;
    }
    return BRAID_OK;
}

static void run_step(braid_monitored_session *s, step_scratch *c, const braid_feed *feeds,
                     const braid_fetch *fetches, braid_op *target, bool with_hooks, braid_status *st)
{
    collect_fetches(s, c, fetches, with_hooks);
    if (run_session(s, c, feeds, target, st)) return;
    if (with_hooks) {
        if (s->global_step.op)
            s->global_step_value = integer_of(c->values.items[position_of(c, s->global_step)]);
        call_after_run(s, c, st);
    }
    for (const braid_fetch *f = fetches; f && f->out.op && !st->code; f++)
        *f->value = braid_tensor_copy(c->values.items[position_of(c, f->out)]);
    for (size_t i = 0; i < c->outs.len; i++)
        braid_tensor_free(c->values.items[i]);
}

// One run, with the hooks around it or without.
static braid_code run(braid_monitored_session *s, const braid_feed *feeds, const braid_fetch *fetches,
                      braid_op *target, bool with_hooks)
{
    if (s->status.code) return s->status.code;
    BD_STATUS(st);
    step_scratch c = take_scratch(s);
    run_step(s, &c, feeds, fetches, target, with_hooks, st);
    give_scratch(s, &c);
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
    free_scratch(&s->spare);
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
    keep_any(s, st);
    braid_code code = s->status.code;
    if (code) bd_error_log("%s: %s", braid_code_name(code), braid_status_message(&s->status));
    free_session(s);
    return code;
}
