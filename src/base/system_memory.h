// The memory that this process may use.
#ifndef BD_BASE_SYSTEM_MEMORY_H
#define BD_BASE_SYSTEM_MEMORY_H

#include <stdint.h>

// Bytes: the memory of the host, or the limit of its control group (a container's) or of the process
// (ulimit -v, ulimit -d), whichever is the least. 1 GB when the system does not say.
int64_t bd_system_memory(void);

#endif
