// Environment variables that turn off, for a process, what processes of a host share beside gRPC ("0").
#ifndef BD_BASE_SHARED_MEMORY_VARIABLES_H
#define BD_BASE_SHARED_MEMORY_VARIABLES_H

#include <stdlib.h>

// Calls through rings: cluster/transport/shm.h.
#define BD_SHARED_MEMORY_VARIABLE "BRAID_SHARED_MEMORY"
// Tensors from the memory of another process: cluster/rpc/cross_memory.h.
#define BD_CROSS_MEMORY_VARIABLE "BRAID_CROSS_MEMORY"

// For this process and those that it starts from now on; no other thread may run yet.
static inline void bd_turn_off_shared_memory(void)
{
    setenv(BD_SHARED_MEMORY_VARIABLE, "0", 1);
    setenv(BD_CROSS_MEMORY_VARIABLE, "0", 1);
}

#endif
