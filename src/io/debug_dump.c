// Writing the files of TensorFlow's debugger.
#include "io/debug_dump.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fingerprint.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include "base/wire.h"
#include "tensor/shape_proto.h"
#include "tensor/tensor_form.h"
#include "tensor/tensor_proto.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// Field numbers of Event, Summary, Summary.Value, SummaryMetadata, its PluginData, and LogMessage.
enum {
    EVENT_WALL_TIME = 1,
    EVENT_GRAPH_DEF = 4,
    EVENT_SUMMARY = 5,
    EVENT_LOG_MESSAGE = 6,
    SUMMARY_VALUE = 1,
    VALUE_TAG = 1,
    VALUE_NODE_NAME = 7,
    VALUE_TENSOR = 8,
    VALUE_METADATA = 9,
    METADATA_PLUGIN = 1,
    PLUGIN_NAME = 1,
    PLUGIN_CONTENT = 2,
    LOG_MESSAGE = 2
};

static const char file_scheme[] = "file://", grpc_scheme[] = "grpc://";

const char *bd_debug_url_dir(const char *url, braid_status *st)
{
    if (strncasecmp(url, file_scheme, strlen(file_scheme)) == 0) return url + strlen(file_scheme);
    if (strncasecmp(url, grpc_scheme, strlen(grpc_scheme)) == 0)
        bd_fail(st, BRAID_UNIMPLEMENTED,
                "Braid does not send to debug URL '%.200s': name a directory, file:///DIR, and read it with "
                "tfdbg's DebugDumpDir",
                url);
    else
        bd_fail(st, BRAID_UNAVAILABLE, "Invalid debug target URL: %.200s", url);
    return NULL;
}

// ---- The limit of bytes ----

#define BYTES_MAX (UINT64_C(100) << 30)

static struct {
    bd_mutex mu;
    uint64_t limit; // 0: not read yet; guarded by mu
    uint64_t used;  // guarded by mu
} bytes = {.mu = BD_MUTEX_INIT};

static uint64_t read_limit(void)
{
    const char *text = getenv("TFDBG_DISK_BYTES_LIMIT");
    const uint64_t limit = text ? strtoull(text, NULL, 10) : 0;
    return limit ? limit : BYTES_MAX;
}

static bool take_bytes(uint64_t wanted, uint64_t *limit)
{
    bd_mutex_lock(&bytes.mu);
    if (!bytes.limit) bytes.limit = read_limit();
    *limit = bytes.limit;
    const bool has_room = wanted == 0 || (wanted < bytes.limit && bytes.used < bytes.limit - wanted);
    if (has_room) bytes.used += wanted;
    bd_mutex_unlock(&bytes.mu);
    return has_room;
}

void bd_debug_reset_bytes(void)
{
    bd_mutex_lock(&bytes.mu);
    bytes.used = 0;
    bd_mutex_unlock(&bytes.mu);
}

// ---- Files ----

// As bd_dir_make, which waits until the disk has the directory: a run has one for each scope of names.
static braid_code make_dir(const bd_fs *fs, const char *path, braid_status *st)
{
    braid_code code = fs->make_dir(fs, path, st);
    if (code == BRAID_NOT_FOUND) {
        char *parent = bd_path_dir(path);
        if (strcmp(parent, path) != 0) {
            braid_status_clear(st);
            code = make_dir(fs, parent, st);
            if (!code) code = fs->make_dir(fs, path, st);
        }
        bd_free(parent);
    }
    if (code == BRAID_ALREADY_EXISTS) braid_status_clear(st);
    return st->code;
}

// Opens the first free one of "PATH_TIME", "PATH_TIME-1", ..., and makes its directory if that is missing.
static braid_code open_free(const bd_fs *fs, const char *path, int64_t time, bd_file **file, braid_status *st)
{
    braid_code code;
    int number = 0;
    bool has_dir = false;
    do {
        char suffix[16] = "";
        if (number > 0) snprintf(suffix, sizeof suffix, "-%d", number);
        char *name = bd_asprintf("%s_%" PRId64 "%s", path, time, suffix);
        braid_status_clear(st);
        code = bd_file_open(fs, name, BD_FILE_CREATE_NEW, file, st);
        if (code == BRAID_NOT_FOUND && !has_dir) {
            char *dir = bd_path_dir(name);
            braid_status_clear(st);
            has_dir = true;
            code = make_dir(fs, dir, st) ? st->code : BRAID_ALREADY_EXISTS; // again
            bd_free(dir);
        } else {
            number++;
        }
        bd_free(name);
    } while (code == BRAID_ALREADY_EXISTS);
    return code;
}

static braid_code write_file(const bd_fs *fs, const char *path, int64_t time, const bd_message *event,
                             braid_status *st)
{
    bd_file *file;
    braid_code code = open_free(fs, path, time, &file, st);
    for (size_t i = 0; !code && i < event->slice_count; i++)
        code = bd_file_write(file, event->slices[i].data, event->slices[i].len, st);
    BD_STATUS(ignored);
    if (file) bd_file_close(file, code ? ignored : st);
    return st->code;
}

// "/job:a/task:0" becomes "_tfdbg_device_,job_a,task_0".
static void put_device(bd_strbuf *path, const char *device)
{
    bd_strbuf_append(path, "_tfdbg_device_");
    for (; *device; device++)
        bd_strbuf_append_char(path, *device == ':' ? '_' : *device == '/' ? ',' : *device);
}

static void begin_event(bd_wire_writer *w, bd_message *event, int64_t time)
{
    const double micros = (double)time;
    uint64_t bits;
    memcpy(&bits, &micros, sizeof bits);
    bd_message_init(event);
    bd_wire_writer_init(w, event);
    bd_wire_put_fixed64(w, EVENT_WALL_TIME, bits);
}

// ---- Values ----

static void put_head(bd_wire_writer *w, braid_dtype dtype, const braid_shape *shape)
{
    bd_wire_put_uint(w, TENSOR_DTYPE, (uint64_t)dtype);
    bd_wire_put_head(w, TENSOR_SHAPE, bd_shape_proto_size(shape));
    bd_shape_proto_write(shape, w);
}

// A reader takes a tensor without content for one that is not initialized, so handles and variants have their
// message as content.
static void make_tensor(bd_message *m, const braid_tensor *t, braid_dtype dtype, const braid_shape *shape)
{
    bd_wire_writer w;
    bd_message_init(m);
    bd_wire_writer_init(&w, m);
    if (!bd_tensor_is_set(t)) {
        put_head(&w, bd_dtype_base(dtype), shape);
    } else if (t->dtype == BRAID_STRING) {
        bd_tensor_proto_write(t, &w);
    } else {
        put_head(&w, t->dtype, &t->shape);
        if (braid_dtype_size(t->dtype) == 0 || t->dtype == BRAID_RESOURCE || t->dtype == BRAID_VARIANT)
            bd_tensor_proto_put(t, TENSOR_CONTENT, &w);
        else if (bd_tensor_count(t) > 0)
            bd_wire_put_bytes(&w, TENSOR_CONTENT, t->data, bd_tensor_bytes(t));
    }
    bd_wire_writer_finish(&w);
}

static void make_metadata(bd_message *m, const bd_debug_key *key)
{
    bd_strbuf json = {0};
    bd_strbuf_appendf(&json, "{\"device\":\"%s\",\"outputSlot\":%d,\"numChunks\":1,\"chunkIndex\":0}",
                      key->device, key->slot);
    bd_message plugin;
    bd_message_init(&plugin);
    bd_wire_writer w;
    bd_wire_writer_init(&w, &plugin);
    bd_wire_put_bytes(&w, PLUGIN_NAME, "debugger", strlen("debugger"));
    bd_wire_put_bytes(&w, PLUGIN_CONTENT, json.data, json.len);
    bd_wire_writer_finish(&w);
    bd_strbuf_fini(&json);
    bd_message_init(m);
    bd_wire_writer_init(&w, m);
    bd_wire_put_message(&w, METADATA_PLUGIN, &plugin);
    bd_wire_writer_finish(&w);
}

static void make_value(bd_message *m, const bd_debug_key *key, bd_message *tensor)
{
    bd_message metadata;
    make_metadata(&metadata, key);
    char *name = bd_asprintf("%.*s:%d:%s", (int)key->node_len, key->node, key->slot, key->op);
    bd_wire_writer w;
    bd_message_init(m);
    bd_wire_writer_init(&w, m);
    bd_wire_put_bytes(&w, VALUE_TAG, key->node, key->node_len);
    bd_wire_put_bytes(&w, VALUE_NODE_NAME, name, strlen(name));
    bd_wire_put_message(&w, VALUE_TENSOR, tensor);
    bd_wire_put_message(&w, VALUE_METADATA, &metadata);
    bd_wire_writer_finish(&w);
    bd_free(name);
}

static void make_tensor_event(bd_message *event, int64_t time, const bd_debug_key *key, bd_message *tensor)
{
    bd_message value, summary;
    make_value(&value, key, tensor);
    bd_message_init(&summary);
    bd_wire_writer w;
    bd_wire_writer_init(&w, &summary);
    bd_wire_put_message(&w, SUMMARY_VALUE, &value);
    bd_wire_writer_finish(&w);
    begin_event(&w, event, time);
    bd_wire_put_message(&w, EVENT_SUMMARY, &summary);
    bd_wire_writer_finish(&w);
}

braid_code bd_debug_dump_tensor(const bd_fs *fs, const char *url, const bd_debug_key *key,
                                const braid_tensor *t, braid_dtype dtype, const braid_shape *shape,
                                braid_status *st)
{
    const char *dir = bd_debug_url_dir(url, st);
    if (!dir) return st->code;
    const uint64_t size = bd_tensor_is_set(t) ? bd_tensor_bytes(t) : 0;
    uint64_t limit;
    if (!take_bytes(size, &limit))
        return bd_fail(
            st, BRAID_RESOURCE_EXHAUSTED,
            "TensorFlow Debugger has exhausted file-system byte-size allowance (%" PRIu64
            "), therefore it cannot dump an additional %" PRIu64
            " byte(s) of tensor data for the debug tensor %.*s:%d. You may use the environment variable "
            "TFDBG_DISK_BYTES_LIMIT to set a higher limit.",
            limit, size, (int)key->node_len, key->node, key->slot);
    const int64_t time = bd_wall_micros();
    bd_message tensor, event;
    make_tensor(&tensor, t, dtype, shape);
    make_tensor_event(&event, time, key, &tensor);
    bd_strbuf path = {0};
    bd_strbuf_appendf(&path, "%s/", dir);
    put_device(&path, key->device);
    bd_strbuf_appendf(&path, "/%.*s_%d_%s", (int)key->node_len, key->node, key->slot, key->op);
    if (write_file(fs, bd_strbuf_str(&path), time, &event, st))
        bd_status_prefix(st, "Debug URL '%.200s': ", url);
    bd_strbuf_fini(&path);
    bd_message_fini(&event);
    return st->code;
}

// ---- Graphs and runs ----

braid_code bd_debug_dump_graph(const bd_fs *fs, const char *url, const char *device,
                               const bd_message *graph_def, braid_status *st)
{
    const char *dir = bd_debug_url_dir(url, st);
    if (!dir) return st->code;
    const int64_t time = bd_wall_micros();
    uint8_t *graph = bd_malloc(graph_def->bytes + 1);
    bd_message_gather(graph_def, graph);
    bd_message event;
    bd_wire_writer w;
    begin_event(&w, &event, time);
    bd_wire_put_bytes(&w, EVENT_GRAPH_DEF, graph, graph_def->bytes);
    bd_wire_writer_finish(&w);
    bd_strbuf path = {0};
    bd_strbuf_appendf(&path, "%s/", dir);
    put_device(&path, device);
    bd_strbuf_appendf(&path, "/_tfdbg_graph_hash%" PRIu64, bd_hash64(graph, graph_def->bytes, 0));
    if (write_file(fs, bd_strbuf_str(&path), time, &event, st))
        bd_status_prefix(st, "Debug URL '%.200s': ", url);
    bd_free(graph);
    bd_strbuf_fini(&path);
    bd_message_fini(&event);
    return st->code;
}

braid_code bd_debug_dump_run(const bd_fs *fs, const char *url, int64_t run_index, const char *json,
                             braid_status *st)
{
    const char *dir = bd_debug_url_dir(url, st);
    if (!dir) return st->code;
    const int64_t time = bd_wall_micros();
    bd_message log, event;
    bd_wire_writer w;
    bd_message_init(&log);
    bd_wire_writer_init(&w, &log);
    bd_wire_put_bytes(&w, LOG_MESSAGE, json, strlen(json));
    bd_wire_writer_finish(&w);
    begin_event(&w, &event, time);
    bd_wire_put_message(&w, EVENT_LOG_MESSAGE, &log);
    bd_wire_writer_finish(&w);
    char *path = bd_asprintf("%s/_tfdbg_core_metadata_sessionrun%.14" PRId64, dir, run_index);
    if (write_file(fs, path, time, &event, st)) bd_status_prefix(st, "Debug URL '%.200s': ", url);
    bd_free(path);
    bd_message_fini(&event);
    return st->code;
}
