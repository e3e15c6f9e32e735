// Fuzzes reading of TFRecord files, plain and compressed: records equal the file's content, and seeking finds
// them again.
#include "base/alloc.h"
#include "base/check.h"
#include "io/crc32c.h"
#include "io/little_endian.h"
#include "io/record.h"
#include "io/testing/memory_fs.h"
#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The first byte says how the file is compressed, whether by us, and whether its checksums are put right.
enum {
    COMPRESSIONS = 3,
    REPAIR = 4,
    COMPRESS = 8
};

static void write_file(const char *path, const void *data, size_t size)
{
    BD_STATUS(st);
    bd_file *file;
    bd_file_open(bd_fs_current, path, BD_FILE_CREATE, &file, st);
    bd_file_write(file, data, size, st);
    bd_file_close(file, st);
    BD_ASSERT(st->code == BRAID_OK);
}

// The fuzzer does not guess checksums.
static void repair(uint8_t *data, size_t size)
{
    size_t at = 0;
    while (size - at >= BD_RECORD_OVERHEAD) {
        memset(data + at + 2, 0, 6); // short records, so that there are some
        uint64_t len = bd_get_le64(data + at);
        bd_put_le32(data + at + 8, bd_crc32c_mask(bd_crc32c(data + at, 8)));
        if (len > size - at - BD_RECORD_OVERHEAD) return;
        bd_put_le32(data + at + 12 + len, bd_crc32c_mask(bd_crc32c(data + at + 12, (size_t)len)));
        at += BD_RECORD_OVERHEAD + (size_t)len;
    }
}

static void write_compressed(const uint8_t *data, size_t size)
{
    uLongf len = compressBound((uLong)size);
    Bytef *packed = bd_malloc(len);
    BD_ASSERT(compress(packed, &len, data, (uLong)size) == Z_OK);
    write_file("/f", packed, len);
    bd_free(packed);
}

// Reads all records. `plain`: the content, NULL when it is unknown.
static void read_all(bd_compression kind, const uint8_t *plain, size_t size)
{
    BD_STATUS(st);
    bd_record_reader *r;
    const uint8_t *record;
    size_t len;
    uint64_t last = 0, at = 0;
    if (bd_record_reader_open(bd_fs_current, "/f", kind, &r, st)) return;
    while (bd_record_read(r, &record, &len, st) == BRAID_OK) {
        BD_ASSERT(!plain || (at + 12 + len <= size && memcmp(plain + at + 12, record, len) == 0));
        last = at;
        at = bd_record_reader_offset(r);
        BD_ASSERT(at == last + BD_RECORD_OVERHEAD + len);
    }
    BD_ASSERT(bd_record_reader_offset(r) == at || kind != BD_COMPRESSION_NONE);
    braid_status_clear(st);
    if (at > 0 && bd_record_reader_seek(r, last, st) == BRAID_OK) {
        BD_ASSERT(bd_record_read(r, &record, &len, st) == BRAID_OK);
        BD_ASSERT(bd_record_reader_offset(r) == at);
    }
    bd_record_reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    uint8_t mode = *data;
    bd_compression kind = (bd_compression)(mode % 4 % COMPRESSIONS);
    size--;
    uint8_t *copy = bd_memdup(data + 1, size);
    if (mode & REPAIR) repair(copy, size);
    bd_memory_fs_install();
    if (mode & COMPRESS) {
        kind = BD_COMPRESSION_ZLIB;
        write_compressed(copy, size);
    } else {
        write_file("/f", copy, size);
    }
    bool known = kind == BD_COMPRESSION_NONE || (mode & COMPRESS);
    read_all(kind, known ? copy : NULL, size);
    bd_memory_fs_uninstall();
    bd_free(copy);
    return 0;
}
