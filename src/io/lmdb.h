// Records of an LMDB database, in the order of their keys (the default database of the environment).
//
// Files are read without LMDB, page by page, and every offset is checked: LMDB itself maps the file and
// trusts it. The file is not locked: it must not change while it is read.
#ifndef BD_IO_LMDB_H
#define BD_IO_LMDB_H

#include "io/file.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct bd_lmdb bd_lmdb;

// Opens a database: its file, or the directory that has it as data.mdb. DataLoss when it is none of a 64-bit,
// little-endian machine. On an error *db is NULL.
braid_code bd_lmdb_open(const bd_fs *fs, const char *path, bd_lmdb **db, braid_status *st);
void bd_lmdb_close(bd_lmdb *db); // NULL is accepted

typedef struct bd_lmdb_record {
    const void *key, *value; // of the database, until the next call
    size_t key_len, value_len;
} bd_lmdb_record;

// The next record; *found is false behind the last one. DataLoss for a damaged file; Unimplemented for a key
// with several values (MDB_DUPSORT); ResourceExhausted when memory is short for a value.
braid_code bd_lmdb_next(bd_lmdb *db, bd_lmdb_record *record, bool *found, braid_status *st);

#endif
