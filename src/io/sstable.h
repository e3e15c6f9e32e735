// Tables: sorted, immutable maps from byte strings to byte strings in one file, as LevelDB writes them.
//
// A checkpoint's index is one. The file is a row of blocks, each followed by a byte for its compression and a
// masked crc32c, then a footer that points to the block that is an index of the others.
#ifndef BD_IO_SSTABLE_H
#define BD_IO_SSTABLE_H

#include "io/output.h"

// Bytes that are not owned.
typedef struct bd_bytes {
    const uint8_t *data;
    size_t len;
} bd_bytes;

// The order of keys: bytewise, a prefix first. Less than, equal to or greater than 0.
int bd_bytes_compare(bd_bytes a, bd_bytes b);

// ---- Writing ----

// 0 means TensorFlow's value.
typedef struct bd_sstable_options {
    size_t block_bytes;   // a block ends with the entry that makes it this long; 262144
    int restart_interval; // after this number of entries a key is written in full; default 16
} bd_sstable_options;

typedef struct bd_sstable_writer bd_sstable_writer;

// Writes to `out`, which stays the caller's. `options` may be NULL.
bd_sstable_writer *bd_sstable_writer_new(bd_output *out, const bd_sstable_options *options);
void bd_sstable_writer_free(bd_sstable_writer *w); // NULL is accepted

// Adds an entry; its key is greater than the one before (asserted).
braid_code bd_sstable_put(bd_sstable_writer *w, bd_bytes key, bd_bytes value, braid_status *st);

// Writes the remaining entries, index and footer. Only bd_sstable_writer_free may follow. `out` is not
// flushed.
braid_code bd_sstable_finish(bd_sstable_writer *w, braid_status *st);

// ---- Reading; one thread at a time ----

typedef struct bd_sstable bd_sstable;

// Opens a table. Its index and a few blocks are in memory. Blocks are checked when they are read: DataLoss,
// naming file and offset, for any damage. On an error *t is NULL.
braid_code bd_sstable_open(const bd_fs *fs, const char *path, bd_sstable **t, braid_status *st);
void bd_sstable_close(bd_sstable *t); // NULL is accepted

// A position in a table that stays open.
typedef struct bd_sstable_iter bd_sstable_iter;

bd_sstable_iter *bd_sstable_iter_new(bd_sstable *t);
void bd_sstable_iter_free(bd_sstable_iter *it); // NULL is accepted

// Moves to the first key that is not less than `key`. After an error the iterator is invalid.
braid_code bd_sstable_iter_seek(bd_sstable_iter *it, bd_bytes key, braid_status *st);
// Moves to the next key; the iterator must be valid (asserted).
braid_code bd_sstable_iter_next(bd_sstable_iter *it, braid_status *st);
// False at the end, before the first seek and after an error.
bool bd_sstable_iter_valid(const bd_sstable_iter *it);
// Of the position; valid until it changes.
bd_bytes bd_sstable_iter_key(const bd_sstable_iter *it);
bd_bytes bd_sstable_iter_value(const bd_sstable_iter *it);

#endif
