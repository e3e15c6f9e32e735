// Local variables, then global ones: a worker works on a copy of its own, and now and then adds what it has
// done to the variable that all share.
//
//     braid run --ps 1 --workers 2 local_then_global
//
// Each worker adds 1 to its copy five times, without a word to other tasks, then adds the five to the shared
// variable and starts anew from that; three rounds. The algorithms of docs/algorithms.md that train copies do
// this with gradients.
#include "task.h"
#include <stdio.h>

enum {
    ROUNDS = 3,
    STEPS = 5
};

typedef struct model {
    braid_variable shared, copy;
    braid_op *step;  // copy += 1
    braid_op *share; // shared += copy - what the copy began with
    braid_op *begin; // copy := shared
} model;

// On the worker; "local_variables" are initialized by each session.
static braid_variable local_variable(const task *t, braid_graph *g, const char *name)
{
    braid_push_device(g, t->device);
    const braid_variable v = braid_variable_get_with(
        g, name, &(braid_variable_options){.initializer = braid_zeros_initializer(), .local = true});
    braid_pop_device(g);
    return v;
}

static braid_op *assign(braid_graph *g, const char *op, braid_variable v, braid_out value)
{
    braid_op_desc *d = braid_op_begin(g, op, NULL);
    braid_op_input(d, v.ref);
    braid_op_input(d, value);
    braid_op_attr_bool(d, "use_locking", true);
    return braid_op_end(d);
}

static model build(const task *t, braid_graph *g)
{
    model m = {.shared = braid_variable_get(g, "shared", BRAID_FLOAT, BRAID_SCALAR, braid_zeros_initializer(),
                                            false)};
    m.copy = local_variable(t, g, "copy");
    const braid_variable begun = local_variable(t, g, "begun");
    m.step = assign(g, "AssignAdd", m.copy, braid_const_float(g, "one", 1));
    m.share = assign(g, "AssignAdd", m.shared, braid_sub(g, m.copy.read, begun.read));
    braid_op *const both[] = {assign(g, "Assign", m.copy, m.shared.read),
                              assign(g, "Assign", begun, m.shared.read)};
    m.begin = braid_group(g, "begin", both, 2);
    return m;
}

static braid_code work(const task *t, braid_status *status)
{
    braid_graph *g = braid_graph_new();
    task_place(t, g);
    const model m = build(t, g);
    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){.session = task_session(t), .is_chief = t->is_chief});
    for (int round = 1; round <= ROUNDS && !braid_should_stop(s); round++) {
        braid_run(s, NULL, NULL, m.begin);
        for (int i = 0; i < STEPS; i++)
            braid_run(s, NULL, NULL, m.step); // on this worker alone
        braid_tensor *copy = NULL, *shared = NULL;
        braid_run(s, NULL, NULL, m.share);
        if (braid_evaluate(s, NULL, BRAID_FETCH({m.copy.read, &copy}, {m.shared.read, &shared}))) break;
        printf("round %d: the copy is %g, the shared variable %g\n", round,
               (double)*(const float *)braid_tensor_data(copy),
               (double)*(const float *)braid_tensor_data(shared));
        braid_tensor_free(copy);
        braid_tensor_free(shared);
    }
    braid_monitored_session_status(s, status);
    braid_monitored_session_close(s);
    braid_graph_free(g);
    return braid_status_code(status);
}

int main(void)
{
    return task_main("local_then_global", work);
}
