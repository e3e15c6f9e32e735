// A file written from front to back through a buffer, compressed on request.
#ifndef BD_IO_OUTPUT_H
#define BD_IO_OUTPUT_H

#include "io/compression.h"
#include "io/file.h"
#include <braid/tfrecord.h>

// A child of fork writes nothing of what its parent has put.
typedef struct bd_output bd_output;

// On an error *out is NULL. Compressed output cannot be appended to (asserted).
braid_code bd_output_open(const bd_fs *fs, const char *path, bd_file_mode mode, bd_compression kind,
                          bd_output **out, braid_status *st);

// Chooses how a compressed file is compressed, before anything is put; of others it does nothing.
// InvalidArgument: zlib refuses the options.
braid_code bd_output_set_zlib(bd_output *out, const braid_zlib_options *options, braid_status *st);

// Appends bytes. Small pieces are gathered in the buffer, large ones are written directly. After an error
// each later call fails too.
braid_code bd_output_put(bd_output *out, const void *data, size_t len, braid_status *st);

// Bytes put so far, before compression.
uint64_t bd_output_offset(const bd_output *out);

// Hands all that was put to the system: another process that reads the file sees it.
braid_code bd_output_flush(bd_output *out, braid_status *st);

// The same, and on the disk when it returns.
braid_code bd_output_sync(bd_output *out, braid_status *st);

// Finishes, closes and frees, also on an error; NULL is accepted.
// bd_output_close_synced has all on the disk when it returns OK.
braid_code bd_output_close(bd_output *out, braid_status *st);
braid_code bd_output_close_synced(bd_output *out, braid_status *st);

// Closes and frees, and writes no more; NULL is accepted.
void bd_output_abandon(bd_output *out);

#endif
