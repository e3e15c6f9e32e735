// Shared by all uses of oneDNN: one engine, and one thread for each caller.
#ifndef BD_KERNELS_DNNL_H
#define BD_KERNELS_DNNL_H

#include <oneapi/dnnl/dnnl.h>

// oneDNN runs on a team of OpenMP threads, and every thread that calls it would grow one of its own. To be
// called before any other use on a thread.
void bd_dnnl_one_thread(void);

// Returns the engine of this process's CPU; NULL when oneDNN has none. Any thread.
dnnl_engine_t bd_dnnl_engine(void);

#endif
