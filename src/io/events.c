// Writing event files.
#include "io/events.h"

#include "base/alloc.h"
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

struct bd_event_writer {
    char *path; // owned
    int queue_len;
    int64_t flush_ns;
    bd_mutex mu;
    bd_record_writer *records; // guarded by mu
    int waiting;               // guarded by mu: events since the last flush
    int64_t last_flush;        // guarded by mu
};

const char *bd_event_writer_path(const bd_event_writer *w)
{
    return w->path;
}

// ---- Records ----

static braid_code flush_locked(bd_event_writer *w, braid_status *st)
{
    bd_file_info info;
    w->waiting = 0;
    w->last_flush = bd_now_ns();
    braid_code code = bd_record_writer_flush(w->records, st);
    // The system writes to a file without a name as gladly as to another.
    return code ? code : bd_file_get_info(w->path, &info, st);
}

static braid_code write_locked(bd_event_writer *w, const void *event, size_t len, braid_status *st)
{
    braid_code code = bd_record_write(w->records, event, len, st);
    if (code) return code;
    w->waiting++;
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
    bd_wire_writer out;
    uint64_t time_bits;
    memcpy(&time_bits, &time, sizeof time_bits);
    bd_message_init(&m);
    bd_wire_writer_init(&out, &m);
    bd_wire_put_fixed64(&out, EVENT_WALL_TIME, time_bits);
    if (step) bd_wire_put_uint(&out, EVENT_STEP, (uint64_t)step);
    bd_wire_put_tag(&out, field, BD_WIRE_BYTES);
    bd_wire_put_varint(&out, len);
    bd_wire_put_ref(&out, (bd_slice){.data = data, .len = len});
    bd_wire_writer_finish(&out);
    braid_code code;
    uint8_t *event = bd_try_malloc(m.bytes);
    if (event) {
        bd_message_gather(&m, event);
        bd_mutex_lock(&w->mu);
        code = write_locked(w, event, m.bytes, st);
        bd_mutex_unlock(&w->mu);
    } else {
        code = bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for an event of %zu bytes of %s", m.bytes,
                       w->path);
    }
    bd_free(event);
    bd_message_fini(&m);
    return code;
}

// ---- Opening and closing ----

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
static braid_code open_new(const char *dir, int64_t seconds, const char *suffix, char **path,
                           bd_record_writer **records, braid_status *st)
{
    braid_code code = BRAID_ALREADY_EXISTS;
    for (int attempt = 0; attempt < SAME_NAME_MAX && code == BRAID_ALREADY_EXISTS; attempt++) {
        char *name = file_name(seconds, suffix, attempt);
        braid_status_clear(st);
        bd_free(*path);
        *path = bd_path_join(dir, name);
        bd_free(name);
        code = bd_record_writer_open(*path, BD_FILE_CREATE_NEW, BD_COMPRESSION_NONE, records, st);
    }
    return code;
}

static void free_writer(bd_event_writer *w)
{
    bd_mutex_fini(&w->mu);
    bd_free(w->path);
    bd_free(w);
}

braid_code bd_event_writer_open(const char *dir, const bd_event_options *options, bd_event_writer **w,
                                braid_status *st)
{
    static const char version[] = "brain.Event:2";
    bd_event_options o = options ? *options : (bd_event_options){0};
    char *path = NULL;
    bd_record_writer *records;
    int64_t seconds = bd_wall_micros() / 1000000;
    *w = NULL;
    braid_code code = bd_dir_make(dir, st);
    if (!code) code = open_new(dir, seconds, o.suffix ? o.suffix : "", &path, &records, st);
    if (code) {
        bd_free(path);
        return code;
    }
    *w = bd_calloc(1, sizeof **w);
    (*w)->path = path;
    (*w)->queue_len = o.queue_len ? o.queue_len : 10;
    (*w)->flush_ns = (o.flush_ms ? o.flush_ms : 120000) * 1000000;
    (*w)->records = records;
    (*w)->last_flush = bd_now_ns();
    bd_mutex_init(&(*w)->mu);
    code = put_event(*w, (double)seconds, 0, EVENT_FILE_VERSION, version, strlen(version), st);
    if (!code) code = bd_event_writer_flush(*w, st);
    if (!code) return BRAID_OK;
    BD_STATUS(ignored);
    bd_event_writer_close(*w, ignored);
    *w = NULL;
    return code;
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
    if (!code) code = bd_record_writer_sync(w->records, st);
    braid_code close_code = bd_record_writer_close(w->records, close_st);
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
                       w->path);
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
