// A file read from front to back through a buffer, decompressed on request, in bounded memory.
#ifndef BD_IO_INPUT_H
#define BD_IO_INPUT_H

#include "io/compression.h"
#include "io/file.h"

typedef struct bd_input bd_input;

// On an error *in is NULL.
braid_code bd_input_open(const bd_fs *fs, const char *path, bd_compression kind, bd_input **in,
                         braid_status *st);
void bd_input_close(bd_input *in); // NULL is accepted

// Reads `len` bytes of the (decompressed) content; *got is less only where it ends. DataLoss, naming file and
// offset, when compressed content is damaged or cut off.
braid_code bd_input_read(bd_input *in, void *out, size_t len, size_t *got, braid_status *st);

// Goes on with byte `offset` of the content; beyond its end, reading
// finds the end. Back in compressed content is from the start again.
braid_code bd_input_seek(bd_input *in, uint64_t offset, braid_status *st);

// Where the next byte is, in the (decompressed) content.
uint64_t bd_input_offset(const bd_input *in);

const char *bd_input_path(const bd_input *in); // owned by `in`

#endif
