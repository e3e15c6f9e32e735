// The hook that shows the progress of training: a live line on a terminal, plain lines in a log.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "train/common/build.h"
#include "train/sessions/monitored_session.h"
#include <braid/hooks.h>
#include <stdio.h>
#include <unistd.h>

#define LIVE_EVERY_NS (100 * INT64_C(1000000))   // ten times a second looks alive
#define PLAIN_EVERY_NS (2000 * INT64_C(1000000)) // a log should stay readable

typedef struct progress {
    braid_hook hook;
    braid_out loss;
    int64_t last_step;
    bool live;
    bool shown;                     // a line was written
    int64_t first_step, started_ns; // of the first session
    int64_t shown_step, shown_ns;   // of the last line
    bool due;                       // the step in progress fetches the loss
} progress;

// Seconds as people read them: "4 s", "2:05", "1:02:03".
static void append_time(bd_strbuf *line, double seconds)
{
    long s = (long)(seconds + 0.5);
    if (s < 60)
        bd_strbuf_appendf(line, "%ld s", s);
    else if (s < 3600)
        bd_strbuf_appendf(line, "%ld:%02ld", s / 60, s % 60);
    else
        bd_strbuf_appendf(line, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
}

static void append_loss(bd_strbuf *line, const braid_tensor *loss)
{
    if (!loss || braid_tensor_num_elements(loss) != 1) return;
    const void *data = braid_tensor_data(loss);
    if (braid_tensor_dtype(loss) == BRAID_FLOAT)
        bd_strbuf_appendf(line, "  loss %.4g", (double)*(const float *)data);
    else if (braid_tensor_dtype(loss) == BRAID_DOUBLE)
        bd_strbuf_appendf(line, "  loss %.4g", *(const double *)data);
}

static double seconds_between(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) / 1e9;
}

static void write_line(const progress *p, const bd_strbuf *line, bool last)
{
    if (p->live)
        fprintf(stderr, "\r%s\033[K%s", bd_strbuf_str(line), last ? "\n" : "");
    else
        fprintf(stderr, "%s\n", bd_strbuf_str(line));
    fflush(stderr);
}

static void show(progress *p, int64_t step, const braid_tensor *loss)
{
    int64_t now = bd_now_ns();
    double rate = (double)(step - p->shown_step) / seconds_between(p->shown_ns, now);
    bd_strbuf line = {0};
    bd_strbuf_appendf(&line, "step %lld", (long long)step);
    if (p->last_step > 0) bd_strbuf_appendf(&line, "/%lld", (long long)p->last_step);
    append_loss(&line, loss);
    bd_strbuf_appendf(&line, "  %.0f steps/s", rate);
    if (p->last_step > step && rate > 0) {
        bd_strbuf_append(&line, "  ");
        append_time(&line, (double)(p->last_step - step) / rate);
        bd_strbuf_append(&line, " left");
    }
    write_line(p, &line, false);
    bd_strbuf_fini(&line);
    p->shown = true;
    p->shown_step = step;
    p->shown_ns = now;
}

static braid_code after_create_session(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    (void)st;
    progress *p = (progress *)hook;
    p->shown_step = braid_monitored_session_global_step(s);
    p->shown_ns = bd_now_ns();
    if (p->started_ns) return BRAID_OK; // a recovery does not begin anew
    p->first_step = p->shown_step;
    p->started_ns = p->shown_ns;
    return BRAID_OK;
}

static braid_code before_run(braid_hook *hook, braid_monitored_session *s, braid_hook_request *request,
                             braid_status *st)
{
    (void)s, (void)st;
    progress *p = (progress *)hook;
    p->due = bd_now_ns() - p->shown_ns >= (p->live ? LIVE_EVERY_NS : PLAIN_EVERY_NS);
    if (p->due && p->loss.op) braid_hook_fetch(request, p->loss);
    return BRAID_OK;
}

static braid_code after_run(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                            braid_status *st)
{
    (void)st;
    progress *p = (progress *)hook;
    if (p->due) show(p, braid_monitored_session_global_step(s), p->loss.op ? values[0] : NULL);
    return BRAID_OK;
}

static braid_code end(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    (void)st;
    progress *p = (progress *)hook;
    int64_t step = braid_monitored_session_global_step(s);
    double seconds = seconds_between(p->started_ns, bd_now_ns());
    if (step < 0 || step == p->first_step) return BRAID_OK;
    bd_strbuf line = {0};
    bd_strbuf_appendf(&line, "step %lld after %.1f s, %.0f steps/s", (long long)step, seconds,
                      (double)(step - p->first_step) / seconds);
    write_line(p, &line, true);
    bd_strbuf_fini(&line);
    p->shown = false;
    return BRAID_OK;
}

static void release(braid_hook *hook)
{
    progress *p = (progress *)hook;
    if (p->live && p->shown) fputc('\n', stderr); // leaves the live line before an error is printed
    bd_free(p);
}

braid_hook *braid_progress(braid_out loss, int64_t last_step)
{
    progress *p = bd_calloc(1, sizeof *p);
    p->hook = (braid_hook){.after_create_session = after_create_session,
                           .before_run = before_run,
                           .after_run = after_run,
                           .end = end,
                           .free = release};
    p->loss = loss;
    p->last_step = last_step;
    p->live = isatty(STDERR_FILENO);
    return &p->hook;
}
