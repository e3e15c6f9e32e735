// The hook that logs the values of tensors.
#include "base/alloc.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "train/sessions/monitored_session.h"
#include <braid/hooks.h>
#include <inttypes.h>
#include <stdlib.h>

#define EVERY_STEPS_DEFAULT 100
#define ELEMENTS_MAX 6 // of a tensor that are shown

typedef struct logging_tensor {
    braid_hook hook;
    braid_out *tensors; // [count]
    char **tags;        // [count]
    int count;
    braid_step_timer timer;
    int64_t step; // of this process
    bool is_due;
    bool at_end, only_at_end;
    char *(*formatter)(void *arg, braid_tensor *const *values); // NULL: the hook's own lines
    void *formatter_arg;
} logging_tensor;

static braid_code before_run(braid_hook *hook, braid_monitored_session *s, braid_hook_request *request,
                             braid_status *st)
{
    (void)s, (void)st;
    logging_tensor *h = (logging_tensor *)hook;
    h->is_due = !h->only_at_end && braid_step_timer_is_due(&h->timer, h->step);
    for (int i = 0; i < h->count && h->is_due; i++)
        braid_hook_fetch(request, h->tensors[i]);
    return BRAID_OK;
}

static void append_element(bd_strbuf *line, const braid_tensor *t, int64_t i)
{
    const void *data = braid_tensor_data(t);
    size_t len;
    const char *text;
    switch (braid_tensor_dtype(t)) {
    case BRAID_FLOAT: bd_strbuf_appendf(line, "%.8g", (double)((const float *)data)[i]); return;
    case BRAID_DOUBLE: bd_strbuf_appendf(line, "%.8g", ((const double *)data)[i]); return;
    case BRAID_INT32: bd_strbuf_appendf(line, "%" PRId32, ((const int32_t *)data)[i]); return;
    case BRAID_INT64: bd_strbuf_appendf(line, "%" PRId64, ((const int64_t *)data)[i]); return;
    case BRAID_BOOL: bd_strbuf_append(line, ((const bool *)data)[i] ? "true" : "false"); return;
    case BRAID_STRING:
        text = braid_tensor_string_at(t, i, &len);
        bd_strbuf_append_n(line, text, len);
        return;
    default: bd_strbuf_append(line, braid_dtype_name(braid_tensor_dtype(t)));
    }
}

static void append_tensor(bd_strbuf *line, const braid_tensor *t)
{
    const int64_t count = braid_tensor_num_elements(t);
    const bool is_scalar = braid_tensor_shape(t).rank == 0;
    if (!is_scalar) bd_strbuf_append(line, "[");
    for (int64_t i = 0; i < count && i < ELEMENTS_MAX; i++) {
        if (i) bd_strbuf_append(line, " ");
        append_element(line, t, i);
    }
    if (count > ELEMENTS_MAX) bd_strbuf_append(line, " ...");
    if (!is_scalar) bd_strbuf_append(line, "]");
}

static void log_formatted(logging_tensor *h, int64_t step, braid_tensor *const *values)
{
    braid_step_timer_mark(&h->timer, step);
    char *line = h->formatter(h->formatter_arg, values);
    if (line) bd_info("%s", line);
    free(line); // the caller's, by free(): the program has made it
}

static void log_values(logging_tensor *h, int64_t step, braid_tensor *const *values)
{
    if (h->formatter) {
        log_formatted(h, step, values);
        return;
    }
    bd_strbuf line = {0};
    for (int i = 0; i < h->count; i++) {
        bd_strbuf_appendf(&line, "%s%s = ", i ? ", " : "", h->tags[i]);
        append_tensor(&line, values[i]);
    }
    const braid_step_timer last = h->timer;
    braid_step_timer_mark(&h->timer, step);
    if (last.last_step >= 0)
        bd_strbuf_appendf(&line, " (%.3f s)", (double)(h->timer.last_ns - last.last_ns) / 1e9);
    bd_info("%s", bd_strbuf_str(&line));
    bd_strbuf_fini(&line);
}

static braid_code after_run(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                            braid_status *st)
{
    (void)s, (void)st;
    logging_tensor *h = (logging_tensor *)hook;
    const int64_t step = h->step++;
    if (h->is_due) log_values(h, step, values);
    return BRAID_OK;
}

static braid_code end(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    logging_tensor *h = (logging_tensor *)hook;
    if (!h->at_end || !h->count) return BRAID_OK;
    braid_tensor **values = bd_calloc((size_t)h->count, sizeof *values);
    braid_fetch *fetches = bd_calloc((size_t)h->count, sizeof *fetches);
    for (int i = 0; i < h->count; i++)
        fetches[i] = (braid_fetch){h->tensors[i], &values[i]};
    const braid_run_args args = {.fetches = fetches, .fetch_count = h->count};
    if (!braid_session_run(braid_monitored_session_raw(s), &args, st)) log_values(h, h->step, values);
    for (int i = 0; i < h->count; i++)
        braid_tensor_free(values[i]);
    bd_free(fetches);
    bd_free(values);
    return st->code;
}

static void release(braid_hook *hook)
{
    logging_tensor *h = (logging_tensor *)hook;
    for (int i = 0; i < h->count; i++)
        bd_free(h->tags[i]);
    bd_free(h->tags);
    bd_free(h->tensors);
    bd_free(h);
}

braid_hook *braid_logging_tensor(const braid_logging_tensor_options *o)
{
    logging_tensor *h = bd_calloc(1, sizeof *h);
    h->hook = (braid_hook){.before_run = before_run, .after_run = after_run, .end = end, .free = release};
    h->count = o->count;
    h->tensors = bd_calloc((size_t)o->count + 1, sizeof *h->tensors);
    h->tags = bd_calloc((size_t)o->count + 1, sizeof *h->tags);
    for (int i = 0; i < o->count; i++) {
        h->tensors[i] = o->tensors[i];
        h->tags[i] = bd_strdup(o->tags ? o->tags[i] : braid_op_name(o->tensors[i].op));
    }
    const bool is_default = !o->every_steps && !(o->every_seconds > 0);
    h->at_end = o->at_end;
    h->only_at_end = o->at_end && is_default;
    h->formatter = o->formatter;
    h->formatter_arg = o->formatter_arg;
    h->timer = braid_step_timer_make(is_default ? EVERY_STEPS_DEFAULT : o->every_steps, o->every_seconds);
    return &h->hook;
}
