// The public writers of event files, one for each directory: the functions of <braid/event_writer.h>.
#include <braid/event_writer.h>

#include "base/alloc.h"
#include "base/fork.h"
#include "base/thread.h"
#include "io/events.h"
#include <string.h>

struct braid_event_writer {
    bd_event_writer *events;
    char *dir;
    int refs;                        // guarded by writers_mu
    struct braid_event_writer *next; // guarded by writers_mu
};

static bd_mutex writers_mu = BD_MUTEX_INIT;
static braid_event_writer *writers; // the open ones

static void watch_forks(void *arg)
{
    (void)arg;
    bd_mutex_across_forks(&writers_mu);
}

static braid_event_writer *find_locked(const char *dir)
{
    braid_event_writer *w = writers;
    while (w && strcmp(w->dir, dir) != 0)
        w = w->next;
    return w;
}

static braid_event_writer *open_locked(const char *dir, braid_status *st)
{
    bd_event_writer *events;
    if (bd_event_writer_open(bd_fs_current, dir, NULL, &events, st)) return NULL;
    braid_event_writer *w = bd_calloc(1, sizeof *w);
    *w = (braid_event_writer){.events = events, .dir = bd_strdup(dir), .next = writers};
    writers = w;
    return w;
}

braid_event_writer *braid_event_writer_open(const char *dir, braid_status *status)
{
    BD_STATUS(unwanted);
    static bd_once once = BD_ONCE_INIT;
    bd_once_run(&once, watch_forks, NULL);
    bd_mutex_lock(&writers_mu);
    braid_event_writer *w = find_locked(dir);
    if (!w) w = open_locked(dir, status ? status : unwanted);
    if (w) w->refs++;
    bd_mutex_unlock(&writers_mu);
    return w;
}

braid_code braid_event_writer_close(braid_event_writer *w, braid_status *status)
{
    if (!w) return BRAID_OK;
    BD_STATUS(unwanted);
    bd_mutex_lock(&writers_mu);
    const bool is_last = --w->refs == 0;
    braid_event_writer **link = &writers;
    while (is_last && *link != w)
        link = &(*link)->next;
    if (is_last) *link = w->next;
    bd_mutex_unlock(&writers_mu);
    if (!is_last) return braid_event_writer_flush(w, status);
    const braid_code code = bd_event_writer_close(w->events, status ? status : unwanted);
    bd_free(w->dir);
    bd_free(w);
    return code;
}

braid_code braid_event_writer_flush(braid_event_writer *w, braid_status *status)
{
    BD_STATUS(unwanted);
    return bd_event_writer_flush(w->events, status ? status : unwanted);
}

braid_code braid_event_writer_add_summary(braid_event_writer *w, const void *summary, size_t len,
                                          int64_t global_step, braid_status *status)
{
    BD_STATUS(unwanted);
    return bd_event_put_summary(w->events, global_step, summary, len, status ? status : unwanted);
}

braid_code braid_event_writer_add_scalar(braid_event_writer *w, const char *tag, float value,
                                         int64_t global_step, braid_status *status)
{
    BD_STATUS(unwanted);
    return bd_event_put_scalar(w->events, global_step, tag, value, status ? status : unwanted);
}

braid_code braid_event_writer_add_histogram(braid_event_writer *w, const char *tag, const double *values,
                                            const int64_t *times, int count, int64_t global_step,
                                            braid_status *status)
{
    BD_STATUS(unwanted);
    bd_histogram h;
    bd_histogram_init(&h);
    for (int i = 0; i < count; i++)
        bd_histogram_add_times(&h, values[i], times ? times[i] : 1);
    const braid_code code =
        bd_event_put_histogram(w->events, global_step, tag, &h, status ? status : unwanted);
    bd_histogram_fini(&h);
    return code;
}

braid_code braid_event_writer_add_graph(braid_event_writer *w, const void *graph_def, size_t len,
                                        int64_t global_step, braid_status *status)
{
    BD_STATUS(unwanted);
    return bd_event_put_graph(w->events, global_step, graph_def, len, status ? status : unwanted);
}

braid_code braid_event_writer_add_meta_graph(braid_event_writer *w, const void *meta_graph_def, size_t len,
                                             braid_status *status)
{
    BD_STATUS(unwanted);
    return bd_event_put_meta_graph(w->events, meta_graph_def, len, status ? status : unwanted);
}

braid_code braid_event_writer_add_run_metadata(braid_event_writer *w, const braid_run_metadata *metadata,
                                               const char *tag, int64_t global_step, braid_status *status)
{
    BD_STATUS(unwanted);
    size_t len;
    const void *data = braid_run_metadata_data(metadata, &len);
    return bd_event_put_run_metadata(w->events, global_step, tag, data, len, status ? status : unwanted);
}

braid_code braid_event_writer_add_session_log(braid_event_writer *w, braid_session_log_status of_session,
                                              const char *checkpoint_path, int64_t global_step,
                                              braid_status *status)
{
    BD_STATUS(unwanted);
    return bd_event_put_session_log(w->events, global_step, (bd_session_status)of_session, checkpoint_path,
                                    NULL, status ? status : unwanted);
}
