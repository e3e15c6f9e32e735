// A file system in memory for tests: it can fail at any call, and it models power cuts.
//
// Content that was written and not synced, and names that changed in a directory that was not synced since,
// may or may not survive a power cut, each independently. One instance at a time; one thread.
#ifndef BD_IO_TESTING_MEMORY_FS_H
#define BD_IO_TESTING_MEMORY_FS_H

#include "base/random.h"
#include <stdbool.h>
#include <stdint.h>

// An empty one in place of the real one, with the directory "/"; and the real one again. No file is open.
void bd_memory_fs_install(void);
void bd_memory_fs_uninstall(void);

// After `n` more calls that change the file system, the next one fails with ResourceExhausted; with
// `for_good`, so does each later call of any kind, as when the power is cut. Negative: no failure.
void bd_memory_fs_fail_after(int64_t n, bool for_good);

// Cuts the power: `rng` decides about everything that is not on the disk. No file is open afterwards. Calls
// succeed again.
void bd_memory_fs_power_cut(bd_rng *rng);

// The number of files (not directories).
int bd_memory_fs_file_count(void);

#endif
