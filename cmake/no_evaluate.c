// No kernels to run, for tests of modules that are built below what runs them.
#include "graph/evaluate.h"

braid_code bd_evaluate_node(const braid_op *node, const braid_tensor *inputs, braid_tensor *outputs,
                            braid_status *st)
{
    (void)node, (void)inputs, (void)outputs;
    return bd_fail(st, BRAID_UNIMPLEMENTED, "there are no kernels here");
}
