// Shared by all uses of oneDNN: one engine, and one thread for each caller.
#ifndef BD_KERNELS_DNNL_H
#define BD_KERNELS_DNNL_H

#include "base/team.h"
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
// multiplications. Where that is worth it there are several calls, which threads share.
int64_t bd_dnnl_images_of_call(int64_t batch, int64_t multiplications);

// Calls of one primitive over parts of the batch, shared by the threads of a team. Each thread has its own
// memory objects for the parts, and its own scratch memory.
typedef struct bd_dnnl_lane {
    dnnl_stream_t stream;
    dnnl_memory_t input, output, scratch;
} bd_dnnl_lane;

typedef struct bd_dnnl_lanes {
    bd_dnnl_lane *lanes;
    int64_t count, max;
    dnnl_memory_desc_t input, output, scratch;
} bd_dnnl_lanes;

// Makes memory objects for `count` threads, at most `max`, which is fixed by the first call. False: oneDNN
// has failed.
bool bd_dnnl_lanes_grow(bd_dnnl_lanes *l, int64_t count);
void bd_dnnl_lanes_fini(bd_dnnl_lanes *l);

// A run: calls fn(arg, lane, i) for each i below `calls`, until one returns false or the loop is interrupted.
// The lane's scratch memory is at `scratch`, `scratch_size` bytes for each of `threads` threads. False: one
// has failed.
typedef struct bd_dnnl_job {
    bd_dnnl_lanes *lanes;
    int64_t calls, threads;
    bool (*fn)(void *arg, const bd_dnnl_lane *lane, int64_t i);
    void *arg;
    void *scratch;
    size_t scratch_size;
} bd_dnnl_job;
bool bd_dnnl_share(const bd_dnnl_job *job, const bd_team *team);

// Returns the engine of this process's CPU; NULL when oneDNN has none. Any thread.
dnnl_engine_t bd_dnnl_engine(void);

#endif
