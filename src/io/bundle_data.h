// The elements of a tensor in a bundle's data file.
#ifndef BD_IO_BUNDLE_DATA_H
#define BD_IO_BUNDLE_DATA_H

#include "base/team.h"
#include "io/bundle_entry.h"
#include "io/output.h"
#include "tensor/tensor.h"

// True for types that a bundle can hold: plain bytes, strings and variants (of which only lists can be
// written).
bool bd_bundle_type_ok(braid_dtype dtype);

// Writes the elements of `t` and sets e->size and e->crc.
braid_code bd_bundle_data_put(bd_output *out, const braid_tensor *t, bd_bundle_entry *e, braid_status *st);

// A data file that is open to read.
typedef struct bd_bundle_shard {
    bd_file *file;
    uint64_t size;
    const bd_team *team; // that reads large tensors; not owned; NULL: the calling thread alone
} bd_bundle_shard;

// Reads the elements of a plain type into `out`, which has room for them, and checks them. DataLoss names
// file and `key`.
braid_code bd_bundle_data_get(const bd_bundle_shard *shard, bd_bytes key, const bd_bundle_entry *e, void *out,
                              braid_status *st);

// Reads the tensor of an entry of any type to `t`. On an error it is "no tensor".
braid_code bd_bundle_data_read(const bd_bundle_shard *shard, bd_bytes key, const bd_bundle_entry *e,
                               braid_tensor *t, braid_status *st);

#endif
