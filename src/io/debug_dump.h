// The files that TensorFlow's debugger (tfdbg) reads: values of watched tensors, graphs and what a run was,
// each an Event message of its own below the directory of a debug URL, "file://DIR".
//
// Values count against a limit of bytes of the process, which the environment variable
// TFDBG_DISK_BYTES_LIMIT sets (100 GiB without it). Any thread.
#ifndef BD_IO_DEBUG_DUMP_H
#define BD_IO_DEBUG_DUMP_H

#include "io/file.h"
#include "tensor/tensor.h"

struct bd_message;

// Returns the directory within `url`. NULL: Unimplemented for grpc://, Unavailable for other schemes.
const char *bd_debug_url_dir(const char *url, braid_status *st);

// What of a tensor a value is.
typedef struct bd_debug_key {
    const char *device; // full name
    const char *node;
    size_t node_len;
    int slot;
    const char *op; // that has made the value: "DebugIdentity"
} bd_debug_key;

// Writes DIR/_tfdbg_device_.../NODE_SLOT_OP_MICROSECONDS. A tensor that is not set is written without
// content, with `dtype` and `shape`. ResourceExhausted when the bytes of the process are used up.
braid_code bd_debug_dump_tensor(const bd_fs *fs, const char *url, const bd_debug_key *key,
                                const braid_tensor *t, braid_dtype dtype, const braid_shape *shape,
                                braid_status *st);

// Writes the graph of a device, a GraphDef: DIR/_tfdbg_device_.../_tfdbg_graph_hashHASH_MICROSECONDS.
braid_code bd_debug_dump_graph(const bd_fs *fs, const char *url, const char *device,
                               const struct bd_message *graph_def, braid_status *st);

// Writes what a run was, as JSON: DIR/_tfdbg_core_metadata_sessionrunINDEX_MICROSECONDS.
braid_code bd_debug_dump_run(const bd_fs *fs, const char *url, int64_t run_index, const char *json,
                             braid_status *st);

// Begins to count bytes of values anew.
void bd_debug_reset_bytes(void);

#endif
