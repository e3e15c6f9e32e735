// Writing a bundle: one data file, filled tensor by tensor, then the index.
#include "base/alloc.h"
#include "base/check.h"
#include "io/bundle.h"
#include "io/bundle_data.h"
#include "io/bundle_files.h"
#include <string.h>

struct bd_bundle_writer {
    const bd_fs *fs;          // not owned
    char *prefix, *data_path; // owned; data_path is temporary
    size_t alignment;
    bd_output *out; // owned; NULL after it is closed
    bd_bundle_index index;
    bool finished;
};

braid_code bd_bundle_writer_open(const bd_fs *fs, const char *prefix, const bd_bundle_options *options,
                                 bd_bundle_writer **w, braid_status *st)
{
    *w = NULL;
    char *dir = bd_path_dir(prefix), *first = bd_bundle_data_path(prefix, 0, 1), *temp = bd_path_temp(first);
    bd_output *out = NULL;
    braid_code code = bd_dir_make(fs, dir, st);
    if (!code) code = bd_output_open(fs, temp, BD_FILE_CREATE_NEW, BD_COMPRESSION_NONE, &out, st);
    bd_free(dir);
    bd_free(first);
    if (code) {
        bd_free(temp);
        return code;
    }
    *w = bd_calloc(1, sizeof **w);
    (*w)->fs = fs;
    (*w)->prefix = bd_strdup(prefix);
    (*w)->data_path = temp;
    (*w)->alignment = options && options->alignment ? options->alignment : 1;
    (*w)->out = out;
    return BRAID_OK;
}

void bd_bundle_writer_free(bd_bundle_writer *w)
{
    if (!w) return;
    BD_STATUS(ignored);
    bd_output_abandon(w->out);
    if (!w->finished) bd_file_remove(w->fs, w->data_path, ignored);
    bd_bundle_index_fini(&w->index);
    bd_free(w->prefix);
    bd_free(w->data_path);
    bd_free(w);
}

static bd_bytes name_key(const char *name)
{
    return (bd_bytes){(const uint8_t *)name, strlen(name)};
}

static braid_code check(const bd_bundle_writer *w, const char *name, const braid_tensor *t, braid_status *st)
{
    BD_ASSERT(w->out);
    if (!*name)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "a tensor without a name cannot be saved in %s",
                       w->prefix);
    if (bd_bundle_type_ok(t->dtype)) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "tensor %s of type %s cannot be saved in %s", name,
                   braid_dtype_name(t->dtype), w->prefix);
}

static braid_code pad(bd_bundle_writer *w, braid_status *st)
{
    static const char zeros[64];
    size_t left = (size_t)(bd_output_offset(w->out) % w->alignment);
    braid_code code = BRAID_OK;
    for (left = left ? w->alignment - left : 0; left > 0 && !code;) {
        size_t len = left < sizeof zeros ? left : sizeof zeros;
        code = bd_output_put(w->out, zeros, len, st);
        left -= len;
    }
    return code;
}

// Writes the elements and an entry with them.
static braid_code add(bd_bundle_writer *w, bd_bytes key, const braid_tensor *t, braid_status *st)
{
    if (bd_bundle_index_find(&w->index, key)) {
        char *name = bd_bundle_key_print(key);
        bd_fail(st, BRAID_INVALID_ARGUMENT, "Adding duplicate key: %s to %s", name, w->prefix);
        bd_free(name);
        return BRAID_INVALID_ARGUMENT;
    }
    bd_bundle_entry *e = bd_bundle_index_add(&w->index, key);
    e->dtype = t->dtype;
    e->shape = t->shape;
    e->offset = (int64_t)bd_output_offset(w->out);
    braid_code code = bd_bundle_data_put(w->out, t, e, st);
    return code ? code : pad(w, st);
}

braid_code bd_bundle_add(bd_bundle_writer *w, const char *name, const braid_tensor *t, braid_status *st)
{
    braid_code code = check(w, name, t, st);
    return code ? code : add(w, name_key(name), t, st);
}

// `whole` is the entry of the tensor with its other slices; NULL if there is none.
static braid_code check_whole(const bd_bundle_writer *w, const char *name, const bd_bundle_entry *whole,
                              const braid_shape *full, const braid_tensor *t, braid_status *st)
{
    if (!whole) return BRAID_OK;
    if (whole->slice_count == 0) {
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Adding duplicate key: %s to %s, whole and in slices",
                       name, w->prefix);
    }
    if (whole->slice_count == BD_BUNDLE_SLICES_MAX) {
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "more than %d slices of %s in %s", BD_BUNDLE_SLICES_MAX,
                       name, w->prefix);
    }
    if (whole->dtype == t->dtype && bd_shape_equal(&whole->shape, full)) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "slices of %s in %s differ: %s %s and %s %s", name, w->prefix,
                   braid_dtype_name(whole->dtype), bd_shape_str(&whole->shape, (char[BD_SHAPE_STR_MAX]){0}),
                   braid_dtype_name(t->dtype), bd_shape_str(full, (char[BD_SHAPE_STR_MAX]){0}));
}

static braid_code check_slice(const char *name, const braid_shape *full, const bd_tensor_slice *slice,
                              const braid_tensor *t, braid_status *st)
{
    bd_tensor_slice resolved;
    braid_code code = bd_tensor_slice_resolve(slice, full, &resolved, st);
    if (code) return bd_status_prefix(st, "tensor %s: ", name);
    braid_shape shape = bd_tensor_slice_shape(&resolved);
    if (bd_shape_equal(&shape, &t->shape)) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "tensor %s has shape %s, but the slice that it is saved as has shape %s", name,
                   bd_shape_str(&t->shape, (char[BD_SHAPE_STR_MAX]){0}),
                   bd_shape_str(&shape, (char[BD_SHAPE_STR_MAX]){0}));
}

braid_code bd_bundle_add_slice(bd_bundle_writer *w, const char *name, const braid_shape *full,
                               const bd_tensor_slice *slice, const braid_tensor *t, braid_status *st)
{
    braid_code code = check(w, name, t, st);
    if (!code) code = check_slice(name, full, slice, t, st);
    if (code) return code;
    if (bd_shape_equal(full, &t->shape)) return add(w, name_key(name), t, st);
    bd_bundle_entry *whole = bd_bundle_index_find(&w->index, name_key(name));
    code = check_whole(w, name, whole, full, t, st);
    if (code) return code;
    bd_strbuf key = {0};
    bd_tensor_slice_key(name, strlen(name), slice, &key);
    code = add(w, (bd_bytes){(const uint8_t *)key.data, key.len}, t, st);
    bd_strbuf_fini(&key);
    if (code) return code;
    if (!whole) {
        whole = bd_bundle_index_add(&w->index, name_key(name));
        whole->dtype = t->dtype;
        whole->shape = *full;
    }
    bd_bundle_entry_add_slice(whole, slice);
    return BRAID_OK;
}

braid_code bd_bundle_finish(bd_bundle_writer *w, braid_status *st)
{
    BD_ASSERT(w->out);
    braid_code code = bd_output_close_synced(w->out, st);
    w->out = NULL;
    if (!code) code = bd_bundle_commit(w->fs, w->prefix, &w->index, &w->data_path, 1, st);
    w->finished = !code;
    return code;
}
