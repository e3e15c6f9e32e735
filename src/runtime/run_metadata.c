// RunMetadata as files and bytes.
#include "runtime/run_metadata.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "io/file.h"
#include "io/record.h"
#include "tensorflow/core/protobuf/config.pb-c.h"
#include "tensorflow/core/util/event.pb-c.h"
#include <stdlib.h>
#include <string.h>

braid_run_metadata *braid_run_metadata_new(void)
{
    return bd_calloc(1, sizeof(braid_run_metadata));
}

void braid_run_metadata_free(braid_run_metadata *m)
{
    if (!m) return;
    bd_strbuf_fini(&m->bytes);
    bd_free(m);
}

void braid_run_metadata_copy(braid_run_metadata *to, const braid_run_metadata *from)
{
    if (to == from) return;
    bd_strbuf_clear(&to->bytes);
    bd_strbuf_append_n(&to->bytes, bd_strbuf_str(&from->bytes), from->bytes.len);
}

void bd_run_metadata_set(braid_run_metadata *m, const bd_message *message)
{
    bd_strbuf_clear(&m->bytes);
    for (size_t i = 0; i < message->slice_count; i++)
        bd_strbuf_append_n(&m->bytes, message->slices[i].data, message->slices[i].len);
}

const void *braid_run_metadata_data(const braid_run_metadata *m, size_t *len)
{
    *len = m->bytes.len;
    return bd_strbuf_str(&m->bytes);
}

braid_code braid_run_metadata_write(const braid_run_metadata *m, const char *path, braid_status *status)
{
    BD_STATUS(own);
    return bd_file_write_atomic(bd_fs_current, path, bd_strbuf_str(&m->bytes), m->bytes.len,
                                status ? status : own);
}

// ---- Reading ----

static const void *unpack(const braid_run_metadata *m, bd_proto_arena *arena, braid_status *st)
{
    return bd_proto_unpack(&tensorflow__run_metadata__descriptor, bd_strbuf_str(&m->bytes), m->bytes.len,
                           arena, st);
}

static bool is_wanted(const Tensorflow__Event *e, const char *tag)
{
    return e->what_case == TENSORFLOW__EVENT__WHAT_TAGGED_RUN_METADATA && e->tagged_run_metadata &&
           (!tag || !strcmp(tag, e->tagged_run_metadata->tag));
}

// Reads the events and keeps the last one with the tag. An event file that is still being written may end
// anywhere.
static braid_code read_events(bd_record_reader *r, const char *tag, braid_run_metadata *m, bool *found,
                              braid_status *st)
{
    const uint8_t *data;
    size_t len;
    while (!bd_record_read(r, &data, &len, st)) {
        BD_PROTO_ARENA(arena);
        const Tensorflow__Event *e = bd_proto_unpack(&tensorflow__event__descriptor, data, len, arena, st);
        if (!e) return st->code;
        if (!is_wanted(e, tag)) continue;
        const ProtobufCBinaryData *bytes = &e->tagged_run_metadata->run_metadata;
        bd_strbuf_clear(&m->bytes);
        bd_strbuf_append_n(&m->bytes, bytes->data, bytes->len);
        *found = true;
    }
    const bool is_end = st->code == BRAID_OUT_OF_RANGE ||
                        (st->code == BRAID_DATA_LOSS && strstr(st->message, "truncated record") != NULL);
    if (is_end) braid_status_clear(st);
    return st->code;
}

// An event file starts with a record, whose length has a checksum. *is_event_file is false for other files.
static braid_code read_event_file(const char *path, const char *tag, braid_run_metadata *m,
                                  bool *is_event_file, braid_status *st)
{
    *is_event_file = false;
    bd_record_reader *r;
    if (bd_record_reader_open(bd_fs_current, path, BD_COMPRESSION_NONE, &r, st)) return st->code;
    const uint8_t *data;
    size_t len;
    if (bd_record_read(r, &data, &len, st)) {
        bd_record_reader_close(r);
        braid_status_clear(st);
        return BRAID_OK;
    }
    *is_event_file = true;
    bool found = false;
    if (!bd_record_reader_seek(r, 0, st) && !read_events(r, tag, m, &found, st) && !found && tag)
        bd_fail(st, BRAID_NOT_FOUND, "'%s' holds no RunMetadata with the tag '%s'", path, tag);
    else if (!st->code && !found)
        bd_fail(st, BRAID_NOT_FOUND, "'%s' has events, but no RunMetadata: no run was traced", path);
    bd_record_reader_close(r);
    return st->code;
}

static braid_code read_message(const char *path, const char *tag, braid_run_metadata *m, braid_status *st)
{
    if (tag)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "'%s' is no event file: there are no tags in it", path);
    char *data;
    size_t len;
    if (bd_file_read_all(bd_fs_current, path, BD_PROTO_BYTES_MAX, &data, &len, st)) return st->code;
    bd_strbuf_append_n(&m->bytes, data, len);
    bd_free(data);
    BD_PROTO_ARENA(arena);
    if (!unpack(m, arena, st)) bd_status_prefix(st, "'%s' holds neither RunMetadata nor events: ", path);
    return st->code;
}

braid_run_metadata *braid_run_metadata_read(const char *path, const char *tag, braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    braid_run_metadata *m = braid_run_metadata_new();
    bool is_event_file;
    if (!read_event_file(path, tag, m, &is_event_file, st) && !is_event_file) read_message(path, tag, m, st);
    if (!st->code) return m;
    braid_run_metadata_free(m);
    return NULL;
}

const Tensorflow__StepStats *bd_run_metadata_stats(const braid_run_metadata *m, bd_proto_arena *arena,
                                                   braid_status *st)
{
    const Tensorflow__RunMetadata *message = unpack(m, arena, st);
    if (message && message->step_stats && message->step_stats->n_dev_stats > 0) return message->step_stats;
    if (message)
        bd_fail(
            st, BRAID_FAILED_PRECONDITION,
            "The RunMetadata holds no step statistics: run the step with RunOptions.trace_level FULL_TRACE");
    return NULL;
}

// ---- Nodes ----

static int64_t micros_to_ns(int64_t micros)
{
    int64_t ns;
    return __builtin_mul_overflow(micros, 1000, &ns) ? INT64_MAX : ns;
}

int64_t bd_stats_start_ns(const Tensorflow__NodeExecStats *node)
{
    return node->all_start_nanos ? node->all_start_nanos : micros_to_ns(node->all_start_micros);
}

int64_t bd_stats_duration_ns(const Tensorflow__NodeExecStats *node)
{
    const int64_t ns =
        node->all_end_rel_nanos ? node->all_end_rel_nanos : micros_to_ns(node->all_end_rel_micros);
    return ns > 0 ? ns : 0;
}

int64_t bd_stats_output_bytes(const Tensorflow__NodeExecStats *node)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < node->n_output; i++) {
        const Tensorflow__TensorDescription *t = node->output[i]->tensor_description;
        if (t && t->allocation_description) bytes += (uint64_t)t->allocation_description->requested_bytes;
    }
    return (int64_t)(bytes & INT64_MAX);
}

// "NAME = Op(a, b:1, ^c)"
void bd_timeline_label_parse(const Tensorflow__NodeExecStats *node, bd_timeline_label *out)
{
    *out = (bd_timeline_label){.text = bd_strdup(node->timeline_label), .op = ""};
    if (!strcmp(node->node_name, "RecvTensor")) {
        out->op = "RecvTensor";
        return;
    }
    char *equals = strstr(out->text, " = "), *open = equals ? strchr(equals, '(') : NULL;
    char *close = open ? strrchr(open, ')') : NULL;
    if (!close) return;
    *open = 0;
    *close = 0;
    out->op = equals + strlen(" = ");
    out->inputs =
        bd_calloc(strlen(open + 1) / 2 + 1, sizeof *out->inputs); // each takes a character and a comma
    for (char *rest = open + 1, *name; (name = strsep(&rest, ",")) != NULL;) {
        name += strspn(name, " ");
        if (*name && *name != '^') out->inputs[out->input_count++] = name;
    }
}

void bd_timeline_label_fini(bd_timeline_label *l)
{
    bd_free((void *)l->inputs);
    bd_free(l->text);
}
