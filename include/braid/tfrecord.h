// TFRecord files: sequences of byte strings with checksums (tf.io.TFRecordWriter, tf_record_iterator).
//
//     braid_record_reader *reader = braid_record_reader_open(path, BRAID_COMPRESSION_NONE, status);
//     while (reader && !braid_record_read(reader, &data, &len, status))
//         ...
//     braid_record_reader_close(reader); // the status is OutOfRange when the whole file was read
//
// All functions block on the disk. Errors name the file. A reader or writer is used by one thread at a time.
#ifndef BRAID_TFRECORD_H
#define BRAID_TFRECORD_H

#include <braid/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// How a whole file is compressed (TFRecordCompressionType).
typedef enum braid_compression {
    BRAID_COMPRESSION_NONE = 0,
    BRAID_COMPRESSION_ZLIB = 1,
    BRAID_COMPRESSION_GZIP = 2
} braid_compression;

/// How zlib compresses (TFRecordOptions); begin with BRAID_ZLIB_DEFAULTS.
typedef struct braid_zlib_options {
    int level;       ///< 0 (not at all) to 9; -1: zlib's default, 6
    int window_bits; ///< as deflateInit2 takes them, with the kind of header; 0: 15, by the compression
    int mem_level;   ///< 1 to 9
    int strategy;    ///< Z_DEFAULT_STRATEGY and so on
    int flush_mode;  ///< Z_NO_FLUSH and so on: after each `flush_bytes` of records
    size_t flush_bytes;
} braid_zlib_options;

#define BRAID_ZLIB_DEFAULTS ((braid_zlib_options){.level = -1, .mem_level = 8, .flush_bytes = 256 << 10})

typedef struct braid_record_writer braid_record_writer;

/// Makes a file, or empties one that exists. NULL on an error: NotFound, PermissionDenied, ...
BRAID_API braid_record_writer *braid_record_writer_open(const char *path, braid_compression compression,
                                                        braid_status *status);
/// The same with options of zlib (NULL: its defaults); without compression they are not used.
/// InvalidArgument: zlib refuses them.
BRAID_API braid_record_writer *braid_record_writer_open_zlib(const char *path, braid_compression compression,
                                                             const braid_zlib_options *options,
                                                             braid_status *status);
/// Appends a record of `len` bytes. After an error every later call fails too.
BRAID_API braid_code braid_record_write(braid_record_writer *writer, const void *data, size_t len,
                                        braid_status *status);
/// Hands all records to the system, so that other processes see them.
BRAID_API braid_code braid_record_writer_flush(braid_record_writer *writer, braid_status *status);
/// Finishes and closes the file and frees the writer, also on an error. NULL is accepted.
BRAID_API braid_code braid_record_writer_close(braid_record_writer *writer, braid_status *status);

typedef struct braid_record_reader braid_record_reader;

/// NULL on an error: NotFound, PermissionDenied, ...
BRAID_API braid_record_reader *braid_record_reader_open(const char *path, braid_compression compression,
                                                        braid_status *status);
/// Reads the next record: `*data` is the reader's and valid until the next call. OutOfRange where the file
/// ends after a whole record. DataLoss, naming file and offset, where it ends within a record or a checksum
/// is wrong; the reader then stays before that record.
BRAID_API braid_code braid_record_read(braid_record_reader *reader, const void **data, size_t *len,
                                       braid_status *status);
/// NULL is accepted.
BRAID_API void braid_record_reader_close(braid_record_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
