// The files of a bundle: their names, opening an index, and putting a bundle in the place of another.
#ifndef BD_IO_BUNDLE_FILES_H
#define BD_IO_BUNDLE_FILES_H

#include "io/bundle_entry.h"

char *bd_bundle_index_path(const char *prefix);                                    // the caller's
char *bd_bundle_data_path(const char *prefix, int32_t shard, int32_t shard_count); // the caller's

// Opens an index and checks its header. *it is positioned at the header. The caller frees both. On an error
// they are NULL.
braid_code bd_bundle_index_open(const bd_fs *fs, const char *prefix, bd_sstable **t, bd_sstable_iter **it,
                                int32_t *shard_count, braid_status *st);

// Makes a bundle of an index and the data files of its shards, which are on the disk under other names (of
// the same file system) and are renamed. A crash at any instant leaves the bundle that was there, or this
// one.
braid_code bd_bundle_commit(const bd_fs *fs, const char *prefix, const bd_bundle_index *index,
                            char *const *data_paths, int32_t data_count, braid_status *st);

#endif
