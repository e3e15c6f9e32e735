// Reading idx files, plain or gzipped.
#include "idx.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

// MNIST has 70,000 images; a much larger number means another kind of file.
#define ITEMS_MAX 10000000
#define BYTES_MAX (INT64_C(1) << 33)

__attribute__((format(printf, 3, 4))) static void fail(braid_status *status, braid_code code,
                                                       const char *format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    braid_status_set(status, code, message);
}

// gzread passes plain files through as they are.
static gzFile open_either(const char *dir, const char *name, char *path, size_t size, braid_status *status)
{
    static const char *const endings[] = {"", ".gz"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, size, "%s/%s%s", dir, name, endings[i]);
        gzFile file = gzopen(path, "rb");
        if (file) return file;
    }
    fail(status, BRAID_NOT_FOUND, "There is no %s/%s and no %s/%s.gz that can be read", dir, name, dir, name);
    return NULL;
}

// Reads exactly `size` bytes.
static bool read_all(gzFile file, void *data, int64_t size)
{
    char *at = data;
    while (size > 0) {
        unsigned chunk = size > (1 << 30) ? 1u << 30 : (unsigned)size;
        int got = gzread(file, at, chunk);
        if (got <= 0) return false;
        at += got;
        size -= got;
    }
    return true;
}

static int64_t big_endian(const uint8_t *b)
{
    return (int64_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
}

// Reads the header; returns how many bytes follow, -1 on an error.
static int64_t read_header(gzFile file, const char *path, int rank, int64_t *dims, braid_status *status)
{
    uint8_t head[4 + 4 * 8] = {0};
    if (!read_all(file, head, 4 + 4 * rank)) {
        fail(status, BRAID_DATA_LOSS, "%s: too short for an idx file, or damaged", path);
        return -1;
    }
    int64_t magic = big_endian(head), wanted = 0x800 + rank;
    if (magic != wanted) {
        fail(status, BRAID_DATA_LOSS,
             "%s: begins with 0x%08llx and not with 0x%08llx: not the idx file it should be", path,
             (long long)magic, (long long)wanted);
        return -1;
    }
    int64_t bytes = 1;
    for (int i = 0; i < rank; i++) {
        dims[i] = big_endian(head + 4 + 4 * i);
        if (dims[i] < 1 || dims[i] > ITEMS_MAX || (bytes *= dims[i]) > BYTES_MAX) {
            fail(status, BRAID_DATA_LOSS, "%s: dimension %d is %lld, which cannot be", path, i,
                 (long long)dims[i]);
            return -1;
        }
    }
    return bytes;
}

static uint8_t *read_content(gzFile file, const char *path, int rank, int64_t *dims, braid_status *status)
{
    int64_t bytes = read_header(file, path, rank, dims, status);
    if (bytes < 0) return NULL;
    uint8_t *data = malloc((size_t)bytes);
    uint8_t more;
    if (!data) {
        fail(status, BRAID_RESOURCE_EXHAUSTED, "%s: no memory for %lld bytes", path, (long long)bytes);
    } else if (!read_all(file, data, bytes) || gzread(file, &more, 1) != 0) {
        int zlib_code;
        const char *reason = gzerror(file, &zlib_code);
        fail(status, BRAID_DATA_LOSS, "%s: should hold %lld bytes after its header, but %s", path,
             (long long)bytes, zlib_code < 0 && *reason ? reason : "holds more or fewer");
        free(data);
        data = NULL;
    }
    return data;
}

uint8_t *idx_read(const char *dir, const char *name, int rank, int64_t *dims, braid_status *status)
{
    char path[4096];
    gzFile file = open_either(dir, name, path, sizeof path, status);
    if (!file) return NULL;
    gzbuffer(file, 1 << 18);
    uint8_t *data = read_content(file, path, rank, dims, status);
    gzclose(file);
    return data;
}
