// A pool of threads that run short tasks in order of submission.
//
// A task must not wait for another task of the same pool. The end has three phases: close refuses new tasks,
// stop runs the queued tasks and waits for the threads, free frees the memory.
#ifndef BD_BASE_THREAD_POOL_H
#define BD_BASE_THREAD_POOL_H

#include "base/status.h"

typedef struct bd_thread_pool bd_thread_pool;
typedef void (*bd_task_fn)(void *arg);

// Starts `threads` (at least 1) threads called `name`. On an error *pool is NULL.
braid_code bd_thread_pool_new(const char *name, int threads, bd_thread_pool **pool, braid_status *st);

// Queues fn(arg); never blocks, and allocates only when the queue is longer than ever before. False when the
// pool is closed: fn will not run. Any thread, tasks included.
bool bd_thread_pool_submit(bd_thread_pool *pool, bd_task_fn fn, void *arg);

// From now on bd_thread_pool_submit refuses. Any thread, any number of times.
void bd_thread_pool_close(bd_thread_pool *pool);

// Closes, then waits until every queued task has run and the threads have ended. Not from a task. Once or
// again.
void bd_thread_pool_stop(bd_thread_pool *pool);

// Stops and frees. NULL is accepted.
void bd_thread_pool_free(bd_thread_pool *pool);

int bd_thread_pool_threads(const bd_thread_pool *pool);

#endif
