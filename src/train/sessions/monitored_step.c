// A step of a monitored session: it fetches the program's fetches, the global step and the hooks' fetches, each
// output once.
#include "train/sessions/monitored_session.h"

#include "base/alloc.h"
#include "base/check.h"

struct braid_hook_request {
    train_step_lists *lists;
    int fetch_count; // of this hook
};

void train_step_lists_free(train_step_lists *c)
{
    bd_array_free(&c->outs);
    bd_array_free(&c->values);
    bd_array_free(&c->fetches);
    bd_array_free(&c->feeds);
    bd_array_free(&c->targets);
    bd_array_free(&c->records);
    bd_array_free(&c->hook_fetches);
    bd_array_free(&c->hook_counts);
    bd_array_free(&c->borrowed);
}

// A step in progress has lists of its own, because hooks may run others.
static train_step_lists take_lists(braid_monitored_session *s)
{
    train_step_lists c = s->spare;
    s->spare = (train_step_lists){0};
    c.timeout_ms = 0;
    c.outs.len = c.feeds.len = c.targets.len = c.records.len = c.hook_fetches.len = c.hook_counts.len = 0;
    return c;
}

static void give_lists(braid_monitored_session *s, train_step_lists *c)
{
    train_step_lists_free(&s->spare); // of a step that a hook ran meanwhile
    s->spare = *c;
}

// The index of `out` in the step's fetches; added when it is new.
static int position_of(train_step_lists *c, braid_out out)
{
    for (size_t i = 0; i < c->outs.len; i++)
        if (c->outs.items[i].op == out.op && c->outs.items[i].index == out.index) return (int)i;
    bd_array_push(&c->outs, out);
    return (int)c->outs.len - 1;
}

// ---- What hooks ask for ----

void braid_hook_fetch(braid_hook_request *request, braid_out out)
{
    bd_array_push(&request->lists->hook_fetches, position_of(request->lists, out));
    request->fetch_count++;
}

void braid_hook_feed(braid_hook_request *request, braid_out out, const braid_tensor *value)
{
    const braid_feed feed = {out, value};
    bd_array_push(&request->lists->feeds, feed);
}

void braid_hook_target(braid_hook_request *request, braid_op *op)
{
    bd_array_push(&request->lists->targets, op);
}

void braid_hook_trace(braid_hook_request *request, braid_run_metadata *metadata)
{
    bd_array_push(&request->lists->records, metadata);
}

void braid_hook_timeout(braid_hook_request *request, int64_t timeout_ms)
{
    request->lists->timeout_ms = bd_max(request->lists->timeout_ms, timeout_ms);
}

static braid_code ask_hooks(braid_monitored_session *s, train_step_lists *c, braid_status *st)
{
    for (size_t i = 0; i < s->hooks.len; i++) {
        braid_hook *h = s->hooks.items[i];
        braid_hook_request request = {.lists = c};
        if (h->before_run && h->before_run(h, s, &request, st)) return st->code;
        bd_array_push(&c->hook_counts, request.fetch_count);
    }
    return BRAID_OK;
}

static void add_options(train_step_lists *c, const braid_run_options *o)
{
    if (o->metadata) bd_array_push(&c->records, o->metadata);
    c->timeout_ms = bd_max(c->timeout_ms, o->timeout_ms);
}

static braid_code collect(braid_monitored_session *s, train_step_lists *c, const train_step *step,
                          braid_status *st)
{
    for (const braid_feed *f = step->feeds; f && (f->out.op || f->value); f++)
        if (f->out.op) bd_array_push(&c->feeds, *f);
    if (step->target) bd_array_push(&c->targets, step->target);
    if (step->options) add_options(c, step->options);
    for (const braid_fetch *f = step->fetches; f && (f->out.op || f->value); f++)
        if (f->out.op) position_of(c, f->out);
    if (!step->with_hooks) return BRAID_OK;
    if (s->global_step.op) position_of(c, s->global_step);
    return ask_hooks(s, c, st);
}

// ---- The run ----

static braid_code run_session(braid_monitored_session *s, train_step_lists *c, braid_status *st)
{
    bd_array_reserve(&c->values, c->outs.len);
    bd_array_reserve(&c->fetches, c->outs.len);
    for (size_t i = 0; i < c->outs.len; i++) {
        c->values.items[i] = NULL;
        c->fetches.items[i] = (braid_fetch){c->outs.items[i], &c->values.items[i]};
    }
    const braid_run_args args = {.feeds = c->feeds.items,
                                 .feed_count = (int)c->feeds.len,
                                 .fetches = c->fetches.items,
                                 .fetch_count = (int)c->outs.len,
                                 .targets = c->targets.items,
                                 .target_count = (int)c->targets.len,
                                 .timeout_ms = c->timeout_ms,
                                 .metadata = c->records.len ? c->records.items[0] : NULL};
    if (braid_session_run(s->session, &args, st)) return st->code;
    for (size_t i = 1; i < c->records.len; i++)
        braid_run_metadata_copy(c->records.items[i], c->records.items[0]);
    return BRAID_OK;
}

static braid_code tell_hooks(braid_monitored_session *s, train_step_lists *c, braid_status *st)
{
    const int *position = c->hook_fetches.items;
    for (size_t i = 0; i < s->hooks.len; i++) {
        braid_hook *h = s->hooks.items[i];
        c->borrowed.len = 0;
        for (int k = 0; k < c->hook_counts.items[i]; k++)
            bd_array_push(&c->borrowed, c->values.items[*position++]);
        const braid_code code = h->after_run ? h->after_run(h, s, c->borrowed.items, st) : BRAID_OK;
        if (code) return code;
    }
    return BRAID_OK;
}

static void run_step(braid_monitored_session *s, train_step_lists *c, const train_step *step,
                     braid_status *st)
{
    if (collect(s, c, step, st) || run_session(s, c, st)) return;
    if (step->with_hooks) {
        if (s->global_step.op)
            s->global_step_value = train_step_of(c->values.items[position_of(c, s->global_step)]);
        tell_hooks(s, c, st);
    }
    for (const braid_fetch *f = step->fetches; f && (f->out.op || f->value) && !st->code; f++)
        if (f->out.op) *f->value = braid_tensor_copy(c->values.items[position_of(c, f->out)]);
    for (size_t i = 0; i < c->outs.len; i++)
        braid_tensor_free(c->values.items[i]);
}

braid_code train_step_run(braid_monitored_session *s, const train_step *step, braid_status *st)
{
    train_step_lists c = take_lists(s);
    run_step(s, &c, step, st);
    give_lists(s, &c);
    return st->code;
}
