// The lines of a text file, plain or compressed.
#ifndef BD_IO_LINES_H
#define BD_IO_LINES_H

#include "io/compression.h"
#include "io/file.h"

typedef struct bd_lines bd_lines;

// On an error *l is NULL.
braid_code bd_lines_open(const bd_fs *fs, const char *path, bd_compression kind, bd_lines **l,
                         braid_status *st);
void bd_lines_close(bd_lines *l); // NULL is accepted

// Returns the next line without its end (a newline, or a carriage return and a newline; the last line may
// lack it), valid until the next call. OutOfRange after the last line; errors of reading files;
// ResourceExhausted when memory is short for the line.
braid_code bd_lines_next(bd_lines *l, const char **line, size_t *len, braid_status *st);

#endif
