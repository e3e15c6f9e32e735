// Work of kernels that blocks on the disk: it has threads of its own, so that it keeps none from running
// nodes.
#ifndef BD_OP_IO_POOL_H
#define BD_OP_IO_POOL_H

#include "op/kernel.h"

// The threads of a device for such work. They start with the first of it.
bd_io_pool *bd_io_pool_new(void);
// Waits for what is running. No execution waits for its turn and none will; who holds a reference is refused
// from now on. NULL is accepted.
void bd_io_pool_free(bd_io_pool *b);

// Another reference, for what outlives a step and may outlive the device; NULL is accepted.
bd_io_pool *bd_io_pool_ref(bd_io_pool *b);
void bd_io_pool_unref(bd_io_pool *b);

// Runs fn(arg) on one of the threads. False: it will not run, because there are none or they have been ended.
bool bd_io_pool_run(bd_io_pool *b, void (*fn)(void *arg), void *arg);
// Whether this thread is one that may block.
bool bd_io_pool_is_here(void);

// The last thing that a kernel's `start` does: runs fn(c) on a thread that may block and then ends the
// execution. When the step is cancelled before it is its turn, fn does not run and the execution ends with
// Cancelled at once. Where the step has no such threads, fn runs on this one.
void bd_op_run_io(bd_op_ctx *c, void (*fn)(bd_op_ctx *c));

// Whether the step is cancelled; if so the execution has failed with Cancelled. For fn, between one file or
// tensor and the next: a call that is waiting for the disk cannot be cut short.
bool bd_op_cancelled(bd_op_ctx *c);

#endif
