// Writing event files.
#include "io/events.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/wire.h"
#include "io/record.h"
#include "io/summary.h"
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

// Field numbers of Event, SessionLog and TaggedRunMetadata.
enum {
    EVENT_WALL_TIME = 1,
    EVENT_STEP = 2,
    EVENT_FILE_VERSION = 3,
    EVENT_GRAPH_DEF = 4,
    EVENT_SUMMARY = 5,
    EVENT_SESSION_LOG = 7,
    EVENT_RUN_METADATA = 8,
    EVENT_META_GRAPH_DEF = 9,
    LOG_STATUS = 1,
    LOG_CHECKPOINT_PATH = 2,
    LOG_MESSAGE = 3,
    TAGGED_TAG = 1,
    TAGGED_METADATA = 2
};

// Files of one name that are tried.
#define SAME_NAME_MAX 1000
#define VERSION_EVENT_MAX 64

struct bd_event_writer {
    const bd_fs *fs; // not owned
    char *dir, *suffix;
    int queue_len;
    int64_t flush_ns;
    bd_mutex mu;
    char *path;                // guarded by mu
    bd_record_writer *records; // guarded by mu; NULL after a write has failed
    int waiting;               // guarded by mu: events since the last flush
    int64_t last_flush;        // guarded by mu
    int64_t lost;              // guarded by mu: events since `records` is NULL
};

const char *bd_event_writer_path(const bd_event_writer *w)
{
    return w->path;
}

// ---- Event messages ----

// Makes an event with one BYTES field: `len` bytes, which are borrowed, of a message or of text.
static void make_event(bd_message *m, double time, int64_t step, uint32_t field, const void *data, size_t len)
{
    bd_wire_writer out;
    uint64_t time_bits;
    memcpy(&time_bits, &time, sizeof time_bits);
    bd_message_init(m);
    bd_wire_writer_init(&out, m);
    bd_wire_put_fixed64(&out, EVENT_WALL_TIME, time_bits);
    if (step) bd_wire_put_uint(&out, EVENT_STEP, (uint64_t)step);
    bd_wire_put_tag(&out, field, BD_WIRE_BYTES);
    bd_wire_put_varint(&out, len);
    bd_wire_put_ref(&out, (bd_slice){.data = data, .len = len});
    bd_wire_writer_finish(&out);
}

// ---- Files ----

static char *file_name(int64_t seconds, const char *suffix, int attempt)
{
    char host[256];
    if (gethostname(host, sizeof host) != 0) host[0] = 0;
    host[sizeof host - 1] = 0;
    const char *name = host[0] ? host : "localhost";
    if (attempt == 0) return bd_asprintf("events.out.tfevents.%010" PRId64 ".%s%s", seconds, name, suffix);
    return bd_asprintf("events.out.tfevents.%010" PRId64 ".%s.%d%s", seconds, name, attempt, suffix);
}

// Opens the first name that is free.
static braid_code open_new_locked(bd_event_writer *w, int64_t seconds, braid_status *st)
{
    braid_code code = BRAID_ALREADY_EXISTS;
    for (int attempt = 0; attempt < SAME_NAME_MAX && code == BRAID_ALREADY_EXISTS; attempt++) {
        char *name = file_name(seconds, w->suffix, attempt);
        braid_status_clear(st);
        bd_free(w->path);
        w->path = bd_path_join(w->dir, name);
        bd_free(name);
        code =
            bd_record_writer_open(w->fs, w->path, BD_FILE_CREATE_NEW, BD_COMPRESSION_NONE, &w->records, st);
    }
    return code;
}

// A write has failed: the content of the file from the last flush on is undefined.
static void abandon_locked(bd_event_writer *w)
{
    BD_STATUS(ignored);
    bd_record_writer_close(w->records, ignored);
    w->records = NULL;
    w->lost += w->waiting;
    w->waiting = 0;
}

// ---- Records ----

static braid_code flush_locked(bd_event_writer *w, braid_status *st)
{
    bd_file_info info;
    w->last_flush = bd_now_ns();
    if (!w->records) return BRAID_OK;
    braid_code code = bd_record_writer_flush(w->records, st);
    // The system writes to a file without a name as gladly as to another.
    if (!code) code = bd_file_get_info(w->fs, w->path, &info, st);
    if (code) abandon_locked(w);
    w->waiting = 0;
    return code;
}

// Writes the first event of a file, and all of it to the disk's cache.
static braid_code begin_file_locked(bd_event_writer *w, braid_status *st)
{
    static const char version[] = "brain.Event:2";
    const int64_t seconds = bd_wall_micros() / 1000000;
    if (open_new_locked(w, seconds, st)) return st->code;
    bd_message m;
    make_event(&m, (double)seconds, 0, EVENT_FILE_VERSION, version, strlen(version));
    uint8_t event[VERSION_EVENT_MAX];
    BD_ASSERT(m.bytes <= sizeof event);
    bd_message_gather(&m, event);
    const braid_code code = bd_record_write(w->records, event, m.bytes, st);
    bd_message_fini(&m);
    if (!code) return flush_locked(w, st);
    abandon_locked(w);
    return code;
}

static braid_code reopen_locked(bd_event_writer *w, braid_status *st)
{
    if (begin_file_locked(w, st)) return st->code;
    bd_warn("%lld events of %s were lost, because they could not be written; it goes on with %s",
            (long long)w->lost, w->dir, w->path);
    w->lost = 0;
    return BRAID_OK;
}

static braid_code write_locked(bd_event_writer *w, const void *event, size_t len, braid_status *st)
{
    if (!w->records && reopen_locked(w, st)) {
        w->lost++;
        return st->code;
    }
    w->waiting++;
    if (bd_record_write(w->records, event, len, st)) {
        abandon_locked(w);
        return st->code;
    }
    if (w->waiting <= w->queue_len && bd_now_ns() - w->last_flush <= w->flush_ns) return BRAID_OK;
    return flush_locked(w, st);
}

static double wall_time(void)
{
    return (double)bd_wall_micros() / 1e6;
}

// An event with one BYTES field: `len` bytes of a message or of text.
static braid_code put_event(bd_event_writer *w, double time, int64_t step, uint32_t field, const void *data,
                            size_t len, braid_status *st)
{
    bd_message m;
    make_event(&m, time, step, field, data, len);
    braid_code code;
    uint8_t *event = bd_try_malloc(m.bytes);
    if (event) {
        bd_message_gather(&m, event);
        bd_mutex_lock(&w->mu);
        code = write_locked(w, event, m.bytes, st);
        bd_mutex_unlock(&w->mu);
    } else {
        code = bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for an event of %zu bytes of %s", m.bytes,
                       w->dir);
    }
    bd_free(event);
    bd_message_fini(&m);
    return code;
}

// ---- Opening and closing ----

static void free_writer(bd_event_writer *w)
{
    bd_mutex_fini(&w->mu);
    bd_free(w->path);
    bd_free(w->dir);
    bd_free(w->suffix);
    bd_free(w);
}

braid_code bd_event_writer_open(const bd_fs *fs, const char *dir, const bd_event_options *options,
                                bd_event_writer **w, braid_status *st)
{
    const bd_event_options o = options ? *options : (bd_event_options){0};
    *w = NULL;
    if (bd_dir_make(fs, dir, st)) return st->code;
    bd_event_writer *made = bd_calloc(1, sizeof *made);
    made->fs = fs;
    made->dir = bd_strdup(dir);
    made->suffix = bd_strdup(o.suffix ? o.suffix : "");
    made->queue_len = o.queue_len ? o.queue_len : 10;
    made->flush_ns = (o.flush_ms ? o.flush_ms : 120000) * 1000000;
    bd_mutex_init(&made->mu);
    bd_mutex_lock(&made->mu);
    begin_file_locked(made, st);
    bd_mutex_unlock(&made->mu);
    if (st->code)
        free_writer(made);
    else
        *w = made;
    return st->code;
}

braid_code bd_event_writer_flush(bd_event_writer *w, braid_status *st)
{
    bd_mutex_lock(&w->mu);
    braid_code code = flush_locked(w, st);
    bd_mutex_unlock(&w->mu);
    return code;
}

braid_code bd_event_writer_close(bd_event_writer *w, braid_status *st)
{
    if (!w) return BRAID_OK;
    BD_STATUS(close_st);
    braid_code code = bd_event_writer_flush(w, st);
    if (!code && w->records) code = bd_record_writer_sync(w->records, st);
    braid_code close_code = bd_record_writer_close(w->records, close_st);
    if (!code && w->lost)
        code = bd_fail(st, BRAID_DATA_LOSS, "%lld events of %s were lost, because they could not be written",
                       (long long)w->lost, w->dir);
    free_writer(w);
    return code || !close_code ? code : bd_status_copy(st, close_st);
}

// ---- Events ----

braid_code bd_event_put(bd_event_writer *w, const void *event, size_t len, braid_status *st)
{
    bd_mutex_lock(&w->mu);
    braid_code code = write_locked(w, event, len, st);
    bd_mutex_unlock(&w->mu);
    return code;
}

braid_code bd_event_put_summary(bd_event_writer *w, int64_t step, const void *summary, size_t len,
                                braid_status *st)
{
    return put_event(w, wall_time(), step, EVENT_SUMMARY, summary, len, st);
}

braid_code bd_event_put_graph(bd_event_writer *w, int64_t step, const void *graph_def, size_t len,
                              braid_status *st)
{
    return put_event(w, wall_time(), step, EVENT_GRAPH_DEF, graph_def, len, st);
}

braid_code bd_event_put_meta_graph(bd_event_writer *w, const void *meta_graph_def, size_t len,
                                   braid_status *st)
{
    return put_event(w, wall_time(), 0, EVENT_META_GRAPH_DEF, meta_graph_def, len, st);
}

// Puts the bytes that `out` has written to `m` into an event's field, and frees `m`.
static braid_code put_message(bd_event_writer *w, int64_t step, uint32_t field, bd_wire_writer *out,
                              bd_message *m, braid_status *st)
{
    bd_wire_writer_finish(out);
    uint8_t *bytes = bd_try_malloc(m->bytes);
    braid_code code;
    if (bytes) {
        bd_message_gather(m, bytes);
        code = put_event(w, wall_time(), step, field, bytes, m->bytes, st);
    } else {
        code = bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for an event of %zu bytes of %s", m->bytes,
                       w->dir);
    }
    bd_free(bytes);
    bd_message_fini(m);
    return code;
}

braid_code bd_event_put_scalar(bd_event_writer *w, int64_t step, const char *tag, float value,
                               braid_status *st)
{
    bd_message m;
    bd_wire_writer out;
    bd_message_init(&m);
    bd_wire_writer_init(&out, &m);
    bd_summary_put_scalar(&out, bd_summary_tag_of(tag), value);
    return put_message(w, step, EVENT_SUMMARY, &out, &m, st);
}

braid_code bd_event_put_histogram(bd_event_writer *w, int64_t step, const char *tag, const bd_histogram *h,
                                  braid_status *st)
{
    bd_message m;
    bd_wire_writer out;
    bd_message_init(&m);
    bd_wire_writer_init(&out, &m);
    bd_summary_put_histogram(&out, bd_summary_tag_of(tag), h);
    return put_message(w, step, EVENT_SUMMARY, &out, &m, st);
}

static void put_text(bd_wire_writer *out, uint32_t field, const char *text)
{
    if (text && *text) bd_wire_put_bytes(out, field, text, strlen(text));
}

braid_code bd_event_put_run_metadata(bd_event_writer *w, int64_t step, const char *tag, const void *metadata,
                                     size_t len, braid_status *st)
{
    bd_message m;
    bd_wire_writer out;
    bd_message_init(&m);
    bd_wire_writer_init(&out, &m);
    put_text(&out, TAGGED_TAG, tag);
    bd_wire_put_bytes(&out, TAGGED_METADATA, metadata, len);
    return put_message(w, step, EVENT_RUN_METADATA, &out, &m, st);
}

braid_code bd_event_put_session_log(bd_event_writer *w, int64_t step, bd_session_status status,
                                    const char *checkpoint_path, const char *message, braid_status *st)
{
    bd_message m;
    bd_wire_writer out;
    bd_message_init(&m);
    bd_wire_writer_init(&out, &m);
    bd_wire_put_uint(&out, LOG_STATUS, (uint64_t)status);
    put_text(&out, LOG_CHECKPOINT_PATH, checkpoint_path);
    put_text(&out, LOG_MESSAGE, message);
    return put_message(w, step, EVENT_SESSION_LOG, &out, &m, st);
}
