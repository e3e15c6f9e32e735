// Files of records of one length, between a header and a footer.
#ifndef BD_IO_FIXED_RECORDS_H
#define BD_IO_FIXED_RECORDS_H

#include "io/compression.h"
#include "io/file.h"
#include <stddef.h>
#include <stdint.h>

// No part of a file is longer.
#define BD_FIXED_BYTES_MAX ((int64_t)INT32_MAX)

typedef struct bd_fixed_format {
    int64_t header, record, footer,
        hop; // bytes, at most BD_FIXED_BYTES_MAX; a record begins each `hop`, at least 1
    bd_compression compression;
} bd_fixed_format;

typedef struct bd_fixed_records bd_fixed_records;

// On an error *r is NULL.
braid_code bd_fixed_records_open(const bd_fs *fs, const char *path, const bd_fixed_format *format,
                                 bd_fixed_records **r, braid_status *st);
void bd_fixed_records_close(bd_fixed_records *r); // NULL is accepted

// Returns the next record, of format->record bytes, valid until the next call; *number counts from 0. *data
// is NULL at the end, when only the footer, or less than a record and the footer, is left.
braid_code bd_fixed_records_next(bd_fixed_records *r, const char **data, uint64_t *number, braid_status *st);

#endif
