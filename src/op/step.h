// The state that all nodes of one execution of a plan share.
#ifndef BD_OP_STEP_H
#define BD_OP_STEP_H

#include "io/file.h"
#include "op/cancellation.h"
#include "op/rendezvous.h"
#include "op/resource.h"

struct bd_thread_pool;
typedef struct bd_io_pool bd_io_pool;                   // op/io_pool.h
typedef struct bd_function_runtime bd_function_runtime; // op/function.h

// Values passed in and out by position, for _Arg and _Retval.
typedef struct bd_call_frame {
    const braid_tensor *args; // borrowed
    int arg_count;
    braid_tensor *rets; // set by _Retval: "no tensor" before
    int ret_count;
    // Results may share the memory of reference variables of numbers, so that they have what the step makes
    // of it in the end.
    bool shares_variables;
} bd_call_frame;

// Collects NodeExecStats when a run asks for them.
typedef struct bd_step_stats_collector bd_step_stats_collector; // src/runtime/step_stats_collector.h

typedef struct bd_step {
    int64_t id;
    bd_rendezvous *rendezvous;     // not owned; NULL when the plan has no Send or Recv
    bd_cancellation *cancellation; // not owned
    // The files that its kernels may use; of the device; not owned; NULL: none. See bd_step_fs.
    const bd_fs *fs;
    bd_resources *resources;     // of the device; not owned
    const char *container;       // the step's own container in `resources`, for temporary resources
    struct bd_account *account;  // that its kernels count against (base/account.h); not owned; NULL: none
    bd_call_frame *frame;        // NULL without one
    struct bd_thread_pool *pool; // where a kernel may spread work; not owned
    // of the device, for kernels that block on the disk; not owned; NULL: none
    bd_io_pool *io_pool;
    bd_step_stats_collector *stats;     // NULL when not asked for
    struct bd_collectives *collectives; // op/collective.h; not owned; NULL: none
    const char *collective_leader;      // the task that leads their groups; not owned; NULL: this process
    bd_function_runtime *functions;     // the functions that nodes may call; not owned; NULL: none
    int call_depth;                     // functions that called each other down to this step
} bd_step;

static inline const bd_fs *bd_step_fs(const bd_step *step)
{
    return step->fs ? step->fs : &bd_fs_none;
}

#endif
