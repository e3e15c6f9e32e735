// Words for compressions, and zlib's memory.
#include "io/compression.h"

#include "base/alloc.h"
#include <string.h>

static void *zlib_alloc(void *arg, unsigned n, unsigned size)
{
    (void)arg;
    return bd_try_calloc(n, size);
}

static void zlib_free(void *arg, void *p)
{
    (void)arg;
    bd_free(p);
}

z_stream *bd_zlib_stream_new(void)
{
    z_stream *z = bd_calloc(1, sizeof *z);
    z->zalloc = zlib_alloc;
    z->zfree = zlib_free;
    return z;
}

void bd_zlib_stream_free(z_stream *z)
{
    bd_free(z);
}

braid_code bd_compression_parse(const char *word, bd_compression *kind, braid_status *st)
{
    if (!*word) {
        *kind = BD_COMPRESSION_NONE;
    } else if (strcmp(word, "ZLIB") == 0) {
        *kind = BD_COMPRESSION_ZLIB;
    } else if (strcmp(word, "GZIP") == 0) {
        *kind = BD_COMPRESSION_GZIP;
    } else {
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "unknown compression '%s': it is \"\", ZLIB or GZIP",
                       word);
    }
    return BRAID_OK;
}
