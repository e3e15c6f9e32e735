// The I/O pool: threads of a device for kernels that block on the disk, so that they hold no thread that runs
// nodes.
#ifndef BD_OP_IO_POOL_H
#define BD_OP_IO_POOL_H

#include "op/kernel.h"

// Makes the pool of a device. Its threads start with the first use.
bd_io_pool *bd_io_pool_new(void);
// Waits for functions that are running, and for queued helpers of a loop that has ended, which find nothing
// to do. No function of bd_op_run_io may be queued; holders of references cannot queue any from now on. NULL
// is accepted.
void bd_io_pool_free(bd_io_pool *b);

// Takes a reference, for users that outlive a step and may outlive the device; NULL is accepted.
bd_io_pool *bd_io_pool_ref(bd_io_pool *b);
void bd_io_pool_unref(bd_io_pool *b);

// Runs fn(arg) on a thread of the pool. False: it will not run, because the pool has no threads or was freed.
bool bd_io_pool_run(bd_io_pool *b, void (*fn)(void *arg), void *arg);
// How many of its threads may share a loop: no more than there are processors; 1 without a pool.
int bd_io_pool_team_size(const bd_io_pool *b);
// Whether this thread is one that may block.
bool bd_io_pool_is_here(void);

// The last call of a kernel's `start`: runs fn(c) on a thread that may block and then ends the execution.
// When the step is cancelled while fn is queued, fn does not run and the execution ends with Cancelled at
// once. In a step without an I/O pool fn runs on the calling thread.
void bd_op_run_io(bd_op_ctx *c, void (*fn)(bd_op_ctx *c));

// The threads of the pool as a team, for a function of bd_op_run_io: at most as many as there are processors.
// It works alone while the others are busy. In a step without an I/O pool it is alone.
typedef struct bd_io_team {
    bd_team base;
    bd_io_pool *pool;
} bd_io_team;
bd_io_team bd_io_team_of(const bd_op_ctx *c);

// Whether the step is cancelled; if so the execution has failed with Cancelled. For fn, between one file or
// tensor and the next: a call that is waiting for the disk cannot be cut short.
bool bd_op_cancelled(bd_op_ctx *c);

#endif
