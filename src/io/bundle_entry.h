// Entries of a bundle's index, and their encoding.
#ifndef BD_IO_BUNDLE_ENTRY_H
#define BD_IO_BUNDLE_ENTRY_H

#include "base/arena.h"
#include "base/map.h"
#include "io/sstable.h"
#include "io/tensor_slice.h"
#include "tensor/dtype.h"

// Names of data files have five digits.
#define BD_BUNDLE_SHARDS_MAX 99999

// Slices are compared pairwise: this bounds the cost of a hostile index to its square.
#define BD_BUNDLE_SLICES_MAX 8192

typedef struct bd_bundle_entry {
    braid_dtype dtype;
    braid_shape shape;
    int32_t shard;           // the data file
    int64_t offset, size;    // bytes in it
    uint32_t crc;            // masked
    bd_tensor_slice *slices; // owned; of a tensor in pieces, which has no data itself
    size_t slice_count, slice_cap;
} bd_bundle_entry;

void bd_bundle_entry_fini(bd_bundle_entry *e); // all zero is an empty one
void bd_bundle_entry_add_slice(bd_bundle_entry *e, const bd_tensor_slice *s);

// The entry as BundleEntryProto; the bytes live in the arena.
bd_bytes bd_bundle_entry_pack(const bd_bundle_entry *e, bd_arena *arena);
// Reads one that the file `path` has under `key`. DataLoss names both. On an error `e` is empty.
braid_code bd_bundle_entry_parse(bd_bytes key, bd_bytes value, const char *path, bd_bundle_entry *e,
                                 braid_status *st);

// The key as messages show it: the name, or name and slice.
char *bd_bundle_key_print(bd_bytes key); // the caller's

// ---- An index being made: entries by key ----

typedef struct bd_bundle_index {
    bd_map nodes;
} bd_bundle_index;

void bd_bundle_index_fini(bd_bundle_index *index);
bd_bundle_entry *bd_bundle_index_find(const bd_bundle_index *index, bd_bytes key); // NULL: not there
// Adds an empty entry for a new key; owned by the index, its address does not change.
bd_bundle_entry *bd_bundle_index_add(bd_bundle_index *index, bd_bytes key);

#endif
