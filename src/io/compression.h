// How a whole file may be compressed.
#ifndef BD_IO_COMPRESSION_H
#define BD_IO_COMPRESSION_H

#include "base/status.h"
#include <zlib.h>

typedef enum bd_compression {
    BD_COMPRESSION_NONE,
    BD_COMPRESSION_ZLIB,
    BD_COMPRESSION_GZIP
} bd_compression;

// Reads the words of TensorFlow's ops: "", "ZLIB", "GZIP". InvalidArgument for any other.
braid_code bd_compression_parse(const char *word, bd_compression *kind, braid_status *st);

// A stream that takes its memory from src/base.
z_stream *bd_zlib_stream_new(void);
void bd_zlib_stream_free(z_stream *z); // after inflateEnd or deflateEnd; NULL is accepted

// The windowBits of zlib: a window of 32 KiB, and the kind of header.
static inline int bd_compression_window_bits(bd_compression kind)
{
    return kind == BD_COMPRESSION_GZIP ? 15 + 16 : 15;
}

#endif
