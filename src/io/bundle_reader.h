// Declarations shared by the files of the bundle reader.
#ifndef BD_IO_BUNDLE_READER_H
#define BD_IO_BUNDLE_READER_H

#include "io/bundle.h"
#include "io/bundle_data.h"
#include "io/bundle_files.h"

bd_bytes bd_bundle_name_key(const char *name);

// Finds the entry of a key; the caller frees it. NotFound. On an error it is empty.
braid_code bd_bundle_find_entry(bd_bundle *b, bd_bytes key, bd_bundle_entry *e, braid_status *st);

// The open data file of an entry; it stays open as long as the bundle.
braid_code bd_bundle_get_shard(bd_bundle *b, bd_bytes key, const bd_bundle_entry *e,
                               const bd_bundle_shard **shard, braid_status *st);

// Reads the tensor of an entry with data. On an error it is "no tensor".
braid_code bd_bundle_read_entry(bd_bundle *b, bd_bytes key, const bd_bundle_entry *e, braid_tensor *t,
                                braid_status *st);

#endif
