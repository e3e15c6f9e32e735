// Running one node without an executor, for the harness of op_test.h.
#ifndef BD_OPS_TESTING_OP_RUN_H
#define BD_OPS_TESTING_OP_RUN_H

#include "op/kernel.h"

#define OP_RUN_TIMEOUT_NS (10 * INT64_C(1000000000))

// A step without rendezvous, frame or pool.
void op_step_init(bd_step *step);
void op_step_fini(bd_step *step);

// Binds the node's kernel and runs it once over `inputs` (the kernel may overwrite unshared ones; the caller
// frees them) into `outputs` (the caller frees them). Waits at most OP_RUN_TIMEOUT_NS for a kernel that
// waits.
braid_code op_run_node(const braid_op *node, bd_step *step, bd_value *inputs, bd_value *outputs,
                       braid_status *st);

// A second reference to a value.
void op_value_ref(bd_value *to, const bd_value *from);

#endif
