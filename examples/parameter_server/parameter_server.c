// A parameter server holds a variable that all workers change.
//
//     braid run --ps 1 --workers 2 parameter_server
//
// Each worker adds 1 to it ten times. The worker that brings it to 10 for each worker prints the sum.
#include "task.h"
#include <stdio.h>

enum {
    TIMES = 10
};

static braid_code count(const task *t, braid_status *status)
{
    braid_graph *g = braid_graph_new();
    task_place(t, g);
    const braid_variable sum = braid_variable_new(g, "sum", braid_zeros(g, BRAID_FLOAT, BRAID_SCALAR), false);
    braid_op_desc *d = braid_op_begin(g, "AssignAdd", "add");
    braid_op_input(d, sum.ref);
    braid_op_input(d, braid_const_float(g, "one", 1));
    braid_op_attr_bool(d, "use_locking", true); // additions of several workers take turns
    const braid_out after = braid_op_end_out(d);

    // The chief gives the variable its first value; the others wait for that.
    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){.session = task_session(t), .is_chief = t->is_chief});
    float last = 0;
    for (int i = 0; i < TIMES && !braid_should_stop(s); i++) {
        braid_tensor *value = NULL;
        if (braid_run(s, NULL, BRAID_FETCH({after, &value}), NULL)) break;
        last = *(const float *)braid_tensor_data(value);
        braid_tensor_free(value);
    }
    if (last >= (float)(TIMES * t->num_workers)) printf("the sum is %g\n", (double)last);
    braid_monitored_session_status(s, status);
    braid_monitored_session_close(s);
    braid_graph_free(g);
    return braid_status_code(status);
}

int main(void)
{
    return task_main("parameter_server", count);
}
