// Fuzzes the reading of V1 checkpoints: the metadata of a file and the values of a slice, inside whole tables
// with valid checksums, which a fuzzer cannot guess.
#include "base/check.h"
#include "io/checkpoint_v1.h"
#include "io/sstable.h"
#include "io/testing/memory_fs.h"
#include "tensor/buffer.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The slices that the file has, of tensor "v": all of a scalar, a vector and a matrix, and the first row of
// one.
enum {
    SLICES = 4
};

static bd_tensor_slice slice_of(int i)
{
    bd_tensor_slice s = bd_tensor_slice_all(i < 3 ? i : 2);
    if (i == 3) s.length[0] = 1;
    return s;
}

static void put(bd_sstable_writer *w, bd_bytes key, bd_bytes value)
{
    BD_STATUS(st);
    BD_ASSERT(bd_sstable_put(w, key, value, st) == BRAID_OK);
}

static int compare_keys(const void *a, const void *b)
{
    const bd_strbuf *x = a, *y = b;
    return bd_bytes_compare((bd_bytes){(const uint8_t *)x->data, x->len},
                            (bd_bytes){(const uint8_t *)y->data, y->len});
}

static void write_file(bd_bytes meta, bd_bytes value)
{
    BD_STATUS(st);
    bd_output *out;
    bd_strbuf keys[SLICES] = {0};
    BD_ASSERT(bd_output_open(bd_fs_current, "/f", BD_FILE_CREATE, BD_COMPRESSION_NONE, &out, st) == BRAID_OK);
    bd_sstable_writer *w = bd_sstable_writer_new(out, NULL);
    put(w, (bd_bytes){0}, meta);
    for (int i = 0; i < SLICES; i++) {
        bd_tensor_slice s = slice_of(i);
        bd_tensor_slice_key("v", 1, &s, &keys[i]);
    }
    qsort(keys, SLICES, sizeof *keys, compare_keys);
    for (int i = 0; i < SLICES; i++) {
        put(w, (bd_bytes){(const uint8_t *)keys[i].data, keys[i].len}, value);
        bd_strbuf_fini(&keys[i]);
    }
    BD_ASSERT(bd_sstable_finish(w, st) == BRAID_OK);
    bd_sstable_writer_free(w);
    BD_ASSERT(bd_output_close(out, st) == BRAID_OK);
}

static void read_file(void)
{
    BD_STATUS(st);
    bd_checkpoint_v1 *f;
    braid_dtype dtype;
    braid_shape shape;
    braid_tensor t = {0};
    if (bd_checkpoint_v1_open(bd_fs_current, "/f", &f, st)) return;
    if (bd_checkpoint_v1_find(f, "v", &dtype, &shape) &&
        bd_checkpoint_v1_read(f, "v", NULL, &t, st) == BRAID_OK) {
        BD_ASSERT(t.dtype == dtype && bd_shape_equal(&t.shape, &shape));
        bd_tensor_fini(&t);
    }
    braid_status_clear(st);
    bd_tensor_slice s = slice_of(3);
    if (bd_checkpoint_v1_read(f, "v", &s, &t, st) == BRAID_OK) BD_ASSERT(t.shape.dims[0] == 1);
    bd_tensor_fini(&t);
    bd_checkpoint_v1_close(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    size_t cut = data[0] % size;
    bd_buffer_pool_set_limit((size_t)1 << 24); // small files may speak of large tensors
    bd_memory_fs_install();
    write_file((bd_bytes){data + 1, cut}, (bd_bytes){data + 1 + cut, size - 1 - cut});
    read_file();
    bd_memory_fs_uninstall();
    return 0;
}
