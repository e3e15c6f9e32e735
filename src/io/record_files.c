// The public readers and writers of TFRecord files: the functions of <braid/tfrecord.h>.
#include <braid/tfrecord.h>

#include "base/alloc.h"
#include "io/record.h"

struct braid_record_writer {
    bd_record_writer *records;
};

struct braid_record_reader {
    bd_record_reader *records;
};

static braid_code check_open(const char *path, braid_compression compression, braid_status *st)
{
    if (!path) return bd_fail(st, BRAID_INVALID_ARGUMENT, "A TFRecord file without a path");
    if (compression < BRAID_COMPRESSION_NONE || compression > BRAID_COMPRESSION_GZIP)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s: there is no compression %d", path, (int)compression);
    return BRAID_OK;
}

static bd_compression kind_of(braid_compression compression)
{
    static const bd_compression kinds[] = {BD_COMPRESSION_NONE, BD_COMPRESSION_ZLIB, BD_COMPRESSION_GZIP};
    return kinds[compression];
}

braid_record_writer *braid_record_writer_open(const char *path, braid_compression compression,
                                              braid_status *status)
{
    return braid_record_writer_open_zlib(path, compression, NULL, status);
}

braid_record_writer *braid_record_writer_open_zlib(const char *path, braid_compression compression,
                                                   const braid_zlib_options *options, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    bd_record_writer *records;
    if (check_open(path, compression, st)) return NULL;
    if (bd_record_writer_open(bd_fs_current, path, BD_FILE_CREATE, kind_of(compression), &records, st))
        return NULL;
    if (options && bd_record_writer_set_zlib(records, options, st)) {
        BD_STATUS(ignored);
        bd_record_writer_close(records, ignored);
        return NULL;
    }
    braid_record_writer *w = bd_malloc(sizeof *w);
    *w = (braid_record_writer){.records = records};
    return w;
}

braid_code braid_record_write(braid_record_writer *w, const void *data, size_t len, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    if (!w) return bd_fail(st, BRAID_INVALID_ARGUMENT, "The TFRecord file is not open");
    if (!data && len) return bd_fail(st, BRAID_INVALID_ARGUMENT, "A record of %zu bytes without data", len);
    return bd_record_write(w->records, data, len, st);
}

braid_code braid_record_writer_flush(braid_record_writer *w, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    if (!w) return bd_fail(st, BRAID_INVALID_ARGUMENT, "The TFRecord file is not open");
    return bd_record_writer_flush(w->records, st);
}

braid_code braid_record_writer_close(braid_record_writer *w, braid_status *status)
{
    BD_STATUS(unwanted);
    if (!w) return BRAID_OK;
    const braid_code code = bd_record_writer_close(w->records, status ? status : unwanted);
    bd_free(w);
    return code;
}

braid_record_reader *braid_record_reader_open(const char *path, braid_compression compression,
                                              braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    bd_record_reader *records;
    if (check_open(path, compression, st)) return NULL;
    if (bd_record_reader_open(bd_fs_current, path, kind_of(compression), &records, st)) return NULL;
    braid_record_reader *r = bd_malloc(sizeof *r);
    *r = (braid_record_reader){.records = records};
    return r;
}

braid_code braid_record_read(braid_record_reader *r, const void **data, size_t *len, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    if (!r) return bd_fail(st, BRAID_INVALID_ARGUMENT, "The TFRecord file is not open");
    const uint8_t *record;
    const braid_code code = bd_record_read(r->records, &record, len, st);
    if (!code) *data = record;
    return code;
}

void braid_record_reader_close(braid_record_reader *r)
{
    if (!r) return;
    bd_record_reader_close(r->records);
    bd_free(r);
}
