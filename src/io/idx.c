// Reads idx files, plain or gzipped.
#include <braid/idx.h>

#include "base/alloc.h"
#include "io/input.h"
#include "tensor/tensor.h"
#include <inttypes.h>
#include <string.h>

// Larger files are another kind of file, or would not fit in memory.
#define BYTES_MAX (INT64_C(1) << 33)

static uint32_t get_be32(const uint8_t *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

// The element type for the third byte of the magic number.
static braid_dtype dtype_of(uint8_t code)
{
    switch (code) {
    case 0x08: return BRAID_UINT8;
    case 0x09: return BRAID_INT8;
    case 0x0b: return BRAID_INT16;
    case 0x0c: return BRAID_INT32;
    case 0x0d: return BRAID_FLOAT;
    case 0x0e: return BRAID_DOUBLE;
    default: return BRAID_INVALID;
    }
}

static braid_code open_either(const char *path, bd_input **in, braid_status *st)
{
    char *zipped = bd_file_exists(bd_fs_current, path) ? bd_strdup(path) : bd_asprintf("%s.gz", path);
    braid_code code = bd_input_open(bd_fs_current, zipped, BD_COMPRESSION_NONE, in, st);
    uint8_t head[2];
    size_t got = 0;
    if (!code) code = bd_input_read(*in, head, sizeof head, &got, st);
    const bool is_gzip = got == 2 && head[0] == 0x1f && head[1] == 0x8b;
    if (!code && is_gzip) {
        bd_input_close(*in);
        code = bd_input_open(bd_fs_current, zipped, BD_COMPRESSION_GZIP, in, st);
    } else if (!code) {
        code = bd_input_seek(*in, 0, st);
    }
    if (code == BRAID_NOT_FOUND) bd_status_suffix(st, " (there is no %s either)", path);
    bd_free(zipped);
    return code;
}

static braid_code read_exactly(bd_input *in, void *out, size_t len, braid_status *st)
{
    size_t got;
    braid_code code = bd_input_read(in, out, len, &got, st);
    if (code || got == len) return code;
    return bd_fail(st, BRAID_DATA_LOSS, "%s: ends at byte %" PRIu64 "; %zu more should follow",
                   bd_input_path(in), bd_input_offset(in), len - got);
}

static braid_code read_head(bd_input *in, braid_dtype *dtype, braid_shape *shape, braid_status *st)
{
    uint8_t magic[4], dim[4];
    braid_code code = read_exactly(in, magic, sizeof magic, st);
    if (code) return code;
    *dtype = dtype_of(magic[2]);
    if (magic[0] || magic[1] || !*dtype || magic[3] > BRAID_RANK_MAX)
        return bd_fail(st, BRAID_DATA_LOSS, "%s: begins with 0x%08" PRIx32 ", as no idx file does",
                       bd_input_path(in), get_be32(magic));
    *shape = (braid_shape){.rank = magic[3]};
    int64_t bytes = (int64_t)braid_dtype_size(*dtype);
    for (int i = 0; i < shape->rank; i++) {
        if ((code = read_exactly(in, dim, sizeof dim, st))) return code;
        shape->dims[i] = get_be32(dim);
        if (__builtin_mul_overflow(bytes, shape->dims[i], &bytes) || bytes > BYTES_MAX)
            return bd_fail(st, BRAID_DATA_LOSS, "%s: dimension %d is %lld, which makes it too large",
                           bd_input_path(in), i, (long long)shape->dims[i]);
    }
    return BRAID_OK;
}

// Elements are stored with the most significant byte first.
static void swap_elements(uint8_t *data, size_t bytes, size_t size)
{
    for (size_t at = 0; at < bytes; at += size) {
        for (size_t i = 0; i < size / 2; i++) {
            const uint8_t low = data[at + i];
            data[at + i] = data[at + size - 1 - i];
            data[at + size - 1 - i] = low;
        }
    }
}

static braid_code read_tensor(bd_input *in, braid_tensor **tensor, braid_status *st)
{
    braid_dtype dtype;
    braid_shape shape;
    braid_code code = read_head(in, &dtype, &shape, st);
    if (code) return code;
    *tensor = braid_tensor_new(dtype, shape, st);
    if (!*tensor) return st->code;
    const size_t bytes = braid_tensor_bytes(*tensor);
    code = read_exactly(in, braid_tensor_data(*tensor), bytes, st);
    if (code) return code;
    uint8_t more;
    size_t got;
    code = bd_input_read(in, &more, 1, &got, st);
    if (!code && got)
        code = bd_fail(st, BRAID_DATA_LOSS, "%s: holds more than the %zu bytes that its header declares",
                       bd_input_path(in), bytes);
    swap_elements(braid_tensor_data(*tensor), bytes, braid_dtype_size(dtype));
    return code;
}

braid_tensor *braid_idx_read(const char *path, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    bd_input *in = NULL;
    braid_tensor *tensor = NULL;
    if (!path)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "An idx file without a path");
    else if (open_either(path, &in, st) || read_tensor(in, &tensor, st)) {
        braid_tensor_free(tensor);
        tensor = NULL;
    }
    bd_input_close(in);
    return tensor;
}
