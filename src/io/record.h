// TFRecord files: sequences of byte strings, each with its length and checksums.
//
//     uint64 length | uint32 masked crc32c of the length | data | uint32 masked crc32c of the data
//     (little-endian)
#ifndef BD_IO_RECORD_H
#define BD_IO_RECORD_H

#include "io/compression.h"
#include "io/file.h"
#include <braid/tfrecord.h>

// Bytes around the data of a record.
#define BD_RECORD_OVERHEAD 16

// No record that is read is longer: that of protobuf's messages.
#define BD_RECORD_BYTES_MAX ((size_t)INT32_MAX)

// ---- Writing; one thread at a time ----

typedef struct bd_record_writer bd_record_writer;

// On an error *w is NULL.
braid_code bd_record_writer_open(const bd_fs *fs, const char *path, bd_file_mode mode, bd_compression kind,
                                 bd_record_writer **w, braid_status *st);
// bd_output_set_zlib, before the first record.
braid_code bd_record_writer_set_zlib(bd_record_writer *w, const braid_zlib_options *options,
                                     braid_status *st);
// Appends a record. After an error every later call fails too.
braid_code bd_record_write(bd_record_writer *w, const void *data, size_t len, braid_status *st);
// Another process that reads the file sees all records so far; after sync they survive a power cut, too.
braid_code bd_record_writer_flush(bd_record_writer *w, braid_status *st);
braid_code bd_record_writer_sync(bd_record_writer *w, braid_status *st);
// Finishes, closes and frees, also on an error; NULL is accepted.
braid_code bd_record_writer_close(bd_record_writer *w, braid_status *st);

// ---- Reading; one thread at a time, in memory of the longest record ----

typedef struct bd_record_reader bd_record_reader;

// On an error *r is NULL.
braid_code bd_record_reader_open(const bd_fs *fs, const char *path, bd_compression kind, bd_record_reader **r,
                                 braid_status *st);
void bd_record_reader_close(bd_record_reader *r); // NULL is accepted

// Reads the next record; *data is valid until the next call. OutOfRange where the file ends after a whole
// record. DataLoss, naming file and offset, where it ends within one ("truncated record") or a checksum is
// wrong ("corrupted record"); the reader then stays before that record, so that a file that is still being
// written can be read on. ResourceExhausted when the record is longer than BD_RECORD_BYTES_MAX or memory is
// short.
braid_code bd_record_read(bd_record_reader *r, const uint8_t **data, size_t *len, braid_status *st);

// Where the next record begins, in the (decompressed) content; and going on with another one.
uint64_t bd_record_reader_offset(const bd_record_reader *r);
braid_code bd_record_reader_seek(bd_record_reader *r, uint64_t offset, braid_status *st);

#endif
