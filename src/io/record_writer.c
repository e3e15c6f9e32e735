// Writing TFRecord files.
#include "base/alloc.h"
#include "io/crc32c.h"
#include "io/little_endian.h"
#include "io/output.h"
#include "io/record.h"

struct bd_record_writer {
    bd_output *out; // owned
};

braid_code bd_record_writer_open(const bd_fs *fs, const char *path, bd_file_mode mode, bd_compression kind,
                                 bd_record_writer **w, braid_status *st)
{
    *w = NULL;
    bd_output *out;
    braid_code code = bd_output_open(fs, path, mode, kind, &out, st);
    if (code) return code;
    *w = bd_malloc(sizeof **w);
    (*w)->out = out;
    return BRAID_OK;
}

braid_code bd_record_writer_set_zlib(bd_record_writer *w, const braid_zlib_options *options, braid_status *st)
{
    return bd_output_set_zlib(w->out, options, st);
}

braid_code bd_record_write(bd_record_writer *w, const void *data, size_t len, braid_status *st)
{
    uint8_t head[12], tail[4];
    bd_put_le64(head, len);
    bd_put_le32(head + 8, bd_crc32c_mask(bd_crc32c(head, 8)));
    bd_put_le32(tail, bd_crc32c_mask(bd_crc32c(data, len)));
    braid_code code = bd_output_put(w->out, head, sizeof head, st);
    if (!code) code = bd_output_put(w->out, data, len, st);
    return code ? code : bd_output_put(w->out, tail, sizeof tail, st);
}

braid_code bd_record_writer_flush(bd_record_writer *w, braid_status *st)
{
    return bd_output_flush(w->out, st);
}

braid_code bd_record_writer_sync(bd_record_writer *w, braid_status *st)
{
    return bd_output_sync(w->out, st);
}

braid_code bd_record_writer_close(bd_record_writer *w, braid_status *st)
{
    if (!w) return BRAID_OK;
    braid_code code = bd_output_close(w->out, st);
    bd_free(w);
    return code;
}
