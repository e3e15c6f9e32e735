// One block of a table: entries that share prefixes with their predecessors.
//
//     entry:  varint32 shared
//  varint32 unshared
//  varint32 value length
//  unshared key bytes
//  value
//     block:  entries
//  uint32 offset of each restart
//  uint32 number of restarts
//
// An entry at a restart shares no prefix, so that a search can begin there.
#ifndef BD_IO_SSTABLE_BLOCK_H
#define BD_IO_SSTABLE_BLOCK_H

#include "base/strbuf.h"
#include "io/sstable.h"

// ---- The file around blocks ----

#define BD_TABLE_TRAILER_BYTES 5 // compression, masked crc32c of block and compression
#define BD_TABLE_FOOTER_BYTES 48 // two handles, padded, and the magic number
#define BD_TABLE_MAGIC 0xdb4775248b80fb57u
#define BD_TABLE_HANDLE_BYTES_MAX 20

enum {
    BD_TABLE_PLAIN = 0,
    BD_TABLE_SNAPPY = 1
};

// Where a block is, without its trailer: two varints in the file.
typedef struct bd_block_handle {
    uint64_t offset, size;
} bd_block_handle;

// ---- Building ----

typedef struct bd_block_builder {
    bd_strbuf bytes, last_key;
    struct {
        uint32_t *items;
        size_t len, cap;
    } restarts;
    int since_restart, restart_interval;
} bd_block_builder;

void bd_block_builder_init(bd_block_builder *b, int restart_interval);
void bd_block_builder_fini(bd_block_builder *b);
void bd_block_builder_reset(bd_block_builder *b); // empty again
bool bd_block_builder_is_empty(const bd_block_builder *b);
// the size of the block that bd_block_builder_finish would make
size_t bd_block_builder_size(const bd_block_builder *b);
void bd_block_builder_add(bd_block_builder *b, bd_bytes key, bd_bytes value);
// The block, valid until the next call.
bd_bytes bd_block_builder_finish(bd_block_builder *b);

// ---- Reading ----

// A block in memory, counted: the table's cache and iterators share it.
typedef struct bd_block {
    int refs;
    uint64_t offset; // in the file, for messages
    size_t entries_len;
    uint32_t restart_count;
    const uint8_t *bytes; // the entries, then the restarts
    uint8_t *memory;      // owned
} bd_block;

// Makes a block of `len` bytes of `memory` (bd_free), which it takes over, also on an error. Returns false
// when it is malformed.
bool bd_block_init(bd_block *b, uint8_t *memory, size_t len, uint64_t offset);
void bd_block_unref(bd_block *b); // NULL is accepted

// A position in a block.
typedef struct bd_block_iter {
    bd_block *block; // one reference; NULL: none
    size_t next;     // offset of the entry after the current one
    bool valid;      // there is a current entry
    bool damaged;    // the block is malformed; not valid then
    bd_strbuf key;
    bd_bytes value; // in the block
} bd_block_iter;

void bd_block_iter_fini(bd_block_iter *it);
// Moves before the first entry of a block, whose reference it takes over.
void bd_block_iter_reset(bd_block_iter *it, bd_block *block);
void bd_block_iter_next(bd_block_iter *it);
// To the first key that is not less than `key`.
void bd_block_iter_seek(bd_block_iter *it, bd_bytes key);
bd_bytes bd_block_iter_key(const bd_block_iter *it);

#endif
