// Fields of comma-separated values in a file (RFC 4180, with another delimiter on request), plain or
// compressed.
#ifndef BD_IO_CSV_H
#define BD_IO_CSV_H

#include "io/compression.h"
#include "io/file.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct bd_csv_format {
    char delimiter;
    bool quotes; // fields may be quoted
    bd_compression compression;
} bd_csv_format;

typedef struct bd_csv bd_csv;

// No field that is read is longer.
#define BD_CSV_FIELD_MAX ((size_t)256 << 20)

// On an error *csv is NULL.
braid_code bd_csv_open(const bd_fs *fs, const char *path, const bd_csv_format *format, bd_csv **csv,
                       braid_status *st);
void bd_csv_close(bd_csv *csv); // NULL is accepted

// Whether no record is left. An error of reading counts as a record, which then has it.
bool bd_csv_is_over(bd_csv *csv);

// The next field of a record, valid until the next call; *ends: it is the last one. A record ends with a line
// feed, a carriage return, both, or the file. InvalidArgument where quotes are wrong: the field was read on
// to its end, and others may follow. Other errors are those of reading the file, and end the record.
braid_code bd_csv_field(bd_csv *csv, const char **data, size_t *len, bool *ends, braid_status *st);

#endif
