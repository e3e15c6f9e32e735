// A file system in memory for tests: it can fail at any call, and it models power cuts.
//
// Content that was written and not synced, and names that changed in a directory that was not synced since,
// may or may not survive a power cut, each independently. One instance at a time. Any thread may use files;
// the functions here are for one thread, unless they say otherwise.
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

// ---- Several processes on one disk, as on a network file system ----

typedef enum bd_memory_fs_call {
    BD_MEMORY_FS_READS,
    BD_MEMORY_FS_CHANGES,
    BD_MEMORY_FS_SYNCS
} bd_memory_fs_call;

typedef struct bd_memory_fs_hooks {
    int (*process)(void);                                     // the number of the caller's process, from 0
    void (*before)(bd_memory_fs_call call, const char *path); // before each operation, without a lock
} bd_memory_fs_hooks;

// Until it is uninstalled. Either may be NULL.
void bd_memory_fs_set_hooks(const bd_memory_fs_hooks *hooks);

// The host of a process has lost its power: as a power cut for its changes alone. Any thread.
void bd_memory_fs_lose(bd_rng *rng, int process);

// There is no room: writes, and new files and directories, fail with ResourceExhausted. Any thread.
void bd_memory_fs_set_full(bool is_full);

// A path that begins with "/@NAME/" means the same as without this: so processes that a test simulates in one
// use different names for a file, where Braid keeps a table of names for a process.

// The number of files (not directories).
int bd_memory_fs_file_count(void);

#endif
