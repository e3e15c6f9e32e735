// Shared by all uses of oneDNN: one engine, and one thread for each caller.
#ifndef BD_KERNELS_DNNL_H
#define BD_KERNELS_DNNL_H

#include <oneapi/dnnl/dnnl.h>

// oneDNN uses OpenMP threads, and each calling thread would start a team of its own. Call this before any
// other use of oneDNN on a thread.
void bd_dnnl_one_thread(void);

// Returns the engine of this process's CPU; NULL when oneDNN has none. Any thread.
dnnl_engine_t bd_dnnl_engine(void);

#endif
