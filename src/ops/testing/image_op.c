// Runs ops on images and on files of images.
#include "ops/testing/image_op.h"

#include "graph/grad.h"
#include "ops/testing/op_test.h"

braid_code image_op_run(const char *op, const char *attrs, const braid_tensor *first, const char *second,
                        braid_tensor *out, braid_status *st)
{
    braid_graph *g = braid_graph_new();
    braid_out in[2] = {bd_b_const(g, NULL, first)};
    if (second) {
        braid_tensor t;
        op_test_tensor(&t, second);
        in[1] = bd_b_const(g, NULL, &t);
        bd_tensor_fini(&t);
    }
    braid_out y = braid_output(op_test_node(g, op, attrs, in, second ? 2 : 1), 0);
    braid_code code = braid_graph_status(g, st);
    if (!code) code = op_test_eval(NULL, 0, &y, 1, out, st);
    braid_graph_free(g);
    return code;
}
