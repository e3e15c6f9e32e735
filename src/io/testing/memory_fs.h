// A file system in memory for tests: it can fail at any call, and it knows what a power cut would leave.
//
// What was written but not synced, and names that changed in a directory that was not synced since, may or
// may not survive a power cut, each for itself. One at a time; one thread.
#ifndef BD_IO_TESTING_MEMORY_FS_H
#define BD_IO_TESTING_MEMORY_FS_H

#include "base/random.h"
#include <stdbool.h>
#include <stdint.h>

// An empty one in place of the real one, with the directory "/"; and the real one again. No file is open.
void bd_memory_fs_install(void);
void bd_memory_fs_uninstall(void);

// After `n` more calls that change something, the next one fails with ResourceExhausted; with `for_good`, so
// does every later call of any kind, as when the power is cut. Negative: none.
void bd_memory_fs_fail_after(int64_t n, bool for_good);

// The power was cut: what survived of what was not on the disk, `rng` decides. No file is open. Calls succeed
// again.
void bd_memory_fs_power_cut(bd_rng *rng);

// Files (not directories) that are there.
int bd_memory_fs_file_count(void);

#endif
