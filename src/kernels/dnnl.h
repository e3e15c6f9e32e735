// Shared by all uses of oneDNN: one engine, and one thread for each caller.
#ifndef BD_KERNELS_DNNL_H
#define BD_KERNELS_DNNL_H

#include <oneapi/dnnl/dnnl.h>
#include <stdint.h>

// oneDNN uses OpenMP threads, and each calling thread would start a team of its own, whose time would count
// for no client (base/account.h). Call this before any other use of oneDNN on a thread.
void bd_dnnl_one_thread(void);

// oneDNN cannot be interrupted (base/interrupt.h): one of several calls makes at most this many
// multiplications, which takes some 30 ms.
#define BD_DNNL_CALL_MULTIPLICATIONS (INT64_C(1) << 30)

// How many of `batch` images, which it is a divisor of, one call is for, when each takes so many
// multiplications.
int64_t bd_dnnl_images_of_call(int64_t batch, int64_t multiplications);

// Returns the engine of this process's CPU; NULL when oneDNN has none. Any thread.
dnnl_engine_t bd_dnnl_engine(void);

#endif
