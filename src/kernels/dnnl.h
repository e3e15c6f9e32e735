// Shared by all uses of oneDNN: one engine, and one thread for each caller.
#ifndef BD_KERNELS_DNNL_H
#define BD_KERNELS_DNNL_H

#include <oneapi/dnnl/dnnl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

// oneDNN uses OpenMP threads, and each calling thread would start a team of its own, whose time would count
// for no client (base/account.h). Call this before any other use of oneDNN on a thread.
void bd_dnnl_one_thread(void);

// Around each call of oneDNN that computes: no signal is delivered to this thread in between. The code that
// oneDNN generates for products keeps values below the stack pointer, farther than the 128 bytes that the
// x86-64 ABI keeps signal handlers from, and a handler on the same stack overwrites them (libdnnl 2.6.3 with
// AVX-512). Threads of Braid block signals always; these are for a program's own thread that runs a session.
void bd_dnnl_begin_call(sigset_t *before);
void bd_dnnl_end_call(const sigset_t *before);
// dnnl_primitive_execute between these two. False: it has failed.
bool bd_dnnl_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int count,
                     const dnnl_exec_arg_t *args);

// oneDNN cannot be interrupted (base/interrupt.h): one of several calls makes at most this many
// multiplications, which takes some 30 ms.
#define BD_DNNL_CALL_MULTIPLICATIONS (INT64_C(1) << 30)

// How many of `batch` images, which it is a divisor of, one call is for, when each takes so many
// multiplications.
int64_t bd_dnnl_images_of_call(int64_t batch, int64_t multiplications);

// Returns the engine of this process's CPU; NULL when oneDNN has none. Any thread.
dnnl_engine_t bd_dnnl_engine(void);

#endif
