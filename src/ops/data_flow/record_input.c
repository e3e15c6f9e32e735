// RecordInput: records of many files in random order, epoch after epoch, each of them once an epoch.
//
// A source reads `file_parallelism` files in turn into a buffer, where each new record changes places with
// any other, and gives the last ones of it. An epoch ends when its files and the buffer are empty; then the
// files are looked for and shuffled anew. The first error stays.
#include "base/alloc.h"
#include "base/array.h"
#include "base/random.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include "graph/shape_fn.h"
#include "io/glob.h"
#include "io/record.h"
#include "op/io_pool.h"
#include "ops/common/string_out.h"

#include <string.h>

// One file is open for each; a larger number is an error.
#define PARALLELISM_MAX 1024

typedef struct source {
    const braid_op *node;
    int64_t batch_size, parallelism;
    size_t buffer_max;
    double shift_ratio;
    bd_compression compression;
    bd_mutex mu; // guards the fields below
    bd_philox random;
    const bd_fs *fs;    // of the step that reads; not owned
    bd_name_list files; // of this epoch
    size_t next_file;
    bd_record_reader **readers; // [parallelism]; NULL: no file is open
    int64_t turn;               // the index of the reader whose turn it is
    BD_ARRAY(bd_string) buffer;
    int64_t epoch_records; // taken from files
    bool has_begun;
    braid_status error;
} source;

static braid_code input_create(const braid_op *node, void *state, braid_status *st)
{
    source *s = state;
    const int64_t buffer_size = bd_node_attr_int(node, "file_buffer_size"),
                  seed = bd_node_attr_int(node, "file_random_seed");
    *s = (source){.node = node,
                  .batch_size = bd_node_attr_int(node, "batch_size"),
                  .parallelism = bd_node_attr_int(node, "file_parallelism"),
                  .buffer_max = (size_t)bd_max(buffer_size, 1),
                  .shift_ratio = (double)bd_node_attr(node, "file_shuffle_shift_ratio")->f,
                  .random = bd_philox_init((uint64_t)seed, 0)};
    if (s->batch_size < 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "batch_size must not be negative: %lld",
                       (long long)s->batch_size);
    if (s->parallelism < 1 || s->parallelism > PARALLELISM_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "file_parallelism must be from 1 to %d: %lld",
                       PARALLELISM_MAX, (long long)s->parallelism);
    if (bd_compression_parse(bd_node_attr_string(node, "compression_type"), &s->compression, st))
        return st->code;
    s->readers = bd_calloc((size_t)s->parallelism, sizeof(bd_record_reader *));
    bd_mutex_init(&s->mu);
    return BRAID_OK;
}

static void input_destroy(void *state)
{
    source *s = state;
    for (int64_t i = 0; i < s->parallelism; i++)
        bd_record_reader_close(s->readers[i]);
    for (size_t i = 0; i < s->buffer.len; i++)
        bd_free(s->buffer.items[i].data);
    bd_array_free(&s->buffer);
    bd_name_list_fini(&s->files);
    bd_free(s->readers);
    braid_status_clear(&s->error);
    bd_mutex_fini(&s->mu);
}

// A number below `limit`.
static size_t random_locked(source *s, size_t limit)
{
    uint32_t words[4];
    bd_philox_next4(&s->random, words);
    return (size_t)(((uint64_t)words[0] << 32 | words[1]) % limit);
}

// ---- Epochs ----

static void swap_names(bd_name_list *list, size_t a, size_t b)
{
    char *name = list->items[a];
    list->items[a] = list->items[b];
    list->items[b] = name;
}

static void reverse_names(bd_name_list *list, size_t from, size_t to)
{
    while (from + 1 < to)
        swap_names(list, from++, --to);
}

// Shuffles the files and shifts them to the left.
static void order_files_locked(source *s)
{
    bd_name_list *f = &s->files;
    for (size_t i = f->len; i > 1; i--)
        swap_names(f, i - 1, random_locked(s, i));
    if (!(s->shift_ratio >= 0 && s->shift_ratio < 1)) return;
    const size_t shift = (size_t)(s->shift_ratio * (double)f->len);
    reverse_names(f, 0, shift);
    reverse_names(f, shift, f->len);
    reverse_names(f, 0, f->len);
}

// The files of patterns that commas separate.
static braid_code find_files_locked(source *s, braid_status *st)
{
    const char *patterns = bd_node_attr_string(s->node, "file_pattern"), *rest = patterns, *piece;
    size_t len;
    bd_name_list_fini(&s->files);
    while (!st->code && bd_split_next(&rest, ',', &piece, &len)) {
        bd_name_list found = {0};
        char *pattern = bd_strndup(piece, len);
        bd_glob(s->fs, pattern, &found, st);
        for (size_t i = 0; i < found.len; i++)
            bd_array_push(&s->files, bd_strdup(found.items[i]));
        bd_name_list_fini(&found);
        bd_free(pattern);
    }
    if (!st->code && s->files.len == 0) bd_fail(st, BRAID_NOT_FOUND, "Found no files at %s", patterns);
    return st->code;
}

static braid_code begin_epoch_locked(source *s, braid_status *st)
{
    if (s->has_begun && s->epoch_records == 0)
        return bd_fail(st, BRAID_OUT_OF_RANGE, "Found no records in the files at %s",
                       bd_node_attr_string(s->node, "file_pattern"));
    if (find_files_locked(s, st)) return st->code;
    order_files_locked(s);
    s->next_file = 0;
    s->epoch_records = 0;
    s->has_begun = true;
    return BRAID_OK;
}

// ---- Records ----

static braid_code add_record_locked(source *s, const uint8_t *data, size_t len, braid_status *st)
{
    bd_string record = {.data = len > 0 ? bd_try_malloc(len) : NULL, .len = len};
    if (len > 0 && !record.data)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when buffering a record of %zu bytes", len);
    if (len > 0) memcpy(record.data, data, len);
    bd_array_push(&s->buffer, record);
    const size_t at = random_locked(s, s->buffer.len);
    s->buffer.items[s->buffer.len - 1] = s->buffer.items[at];
    s->buffer.items[at] = record;
    s->epoch_records++;
    return BRAID_OK;
}

// The reader whose turn it is; opens its next file if it has none. Returns NULL without a next file or on an
// error.
static bd_record_reader *open_reader_locked(source *s, braid_status *st)
{
    bd_record_reader **r = &s->readers[s->turn];
    if (*r || s->next_file == s->files.len) return *r;
    const char *path = s->files.items[s->next_file++];
    if (bd_record_reader_open(s->fs, path, s->compression, r, st)) {
        braid_status_clear(st);
        bd_fail(st, BRAID_INVALID_ARGUMENT, "Can't open %s", path);
    }
    return *r;
}

// Reads a record of each file in turn until the buffer is full or the epoch's files are at their end.
static braid_code fill_locked(source *s, braid_status *st)
{
    for (int64_t idle = 0; s->buffer.len < s->buffer_max && idle < s->parallelism && !st->code;
         s->turn = (s->turn + 1) % s->parallelism) {
        const uint8_t *data;
        size_t len;
        bd_record_reader *r = open_reader_locked(s, st);
        idle++;
        if (!r) continue;
        if (bd_record_read(r, &data, &len, st) == BRAID_OUT_OF_RANGE) {
            braid_status_clear(st);
            bd_record_reader_close(r);
            s->readers[s->turn] = NULL;
            idle = 0; // there may be another file for it
        } else if (!st->code) {
            add_record_locked(s, data, len, st);
            idle = 0;
        }
    }
    return st->code;
}

static bool yield_locked(source *s, bd_op_ctx *c, const braid_tensor *y, int64_t i)
{
    BD_STATUS(st);
    for (fill_locked(s, st); !st->code && s->buffer.len == 0; fill_locked(s, st))
        if (begin_epoch_locked(s, st)) break;
    if (st->code) {
        bd_status_copy(&s->error, st);
        bd_op_fail_status(c, st);
        return false;
    }
    bd_string *record = &s->buffer.items[--s->buffer.len];
    bd_tensor_str(y)[i] = *record;
    return true;
}

static void input_blocking(bd_op_ctx *c)
{
    source *s = c->state;
    braid_shape shape = bd_shape1(s->batch_size);
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &shape);
    if (!y) return;
    bd_mutex_lock(&s->mu);
    s->fs = bd_op_fs(c);
    if (s->error.code) bd_op_fail_status(c, &s->error);
    for (int64_t i = 0; i < s->batch_size && !bd_op_failed(c) && !bd_op_cancelled(c); i++)
        yield_locked(s, c, y, i);
    bd_mutex_unlock(&s->mu);
}

static void input_start(bd_op_ctx *c)
{
    bd_op_run_io(c, input_blocking);
}

// TensorFlow's shape function gives no shape either.
static braid_code input_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = BD_SHAPE_UNKNOWN;
    return BRAID_OK;
}

BD_OP(RecordInput) = {
    .signature = "() -> (records: string)",
    .attrs =
        "file_pattern:string; file_random_seed:int=301; file_shuffle_shift_ratio:float=0; file_buffer_size:int=10000; "
        "file_parallelism:int=16; batch_size:int=32; compression_type:string=''",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = input_shape,
    .kernels = BD_KERNELS({.state_size = sizeof(source),
                           .create = input_create,
                           .destroy = input_destroy,
                           .start = input_start}),
    .doc =
        "Records of the files that a pattern finds, in random order, each once an epoch. Epochs follow without end.",
    .deviation = "The order is random in another way, and the same in each session.",
};
