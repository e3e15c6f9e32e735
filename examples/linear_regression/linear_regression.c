// Linear regression, alone or by all workers of a cluster, asynchronously: y = 3 x + 2 with noise.
//
//     linear_regression
//     braid run --ps 1 --workers 2 linear_regression
//
// Each worker draws points of its own. The chief prints the line that was found.
#include "task.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    STEPS = 1000,
    BATCH = 20
};

static void draw(braid_tensor *x, braid_tensor *y)
{
    float *xs = braid_tensor_data(x), *ys = braid_tensor_data(y);
    for (int i = 0; i < BATCH; i++) {
        xs[i] = (float)rand() / (float)RAND_MAX * 2 - 1;
        ys[i] = 3 * xs[i] + 2 + ((float)rand() / (float)RAND_MAX - 0.5F) * 0.1F;
    }
}

static braid_code train(const task *t, braid_status *status)
{
    srand((unsigned)t->index + 1);
    braid_graph *g = braid_graph_new();
    task_place(t, g);
    const braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1));
    const braid_out y = braid_placeholder(g, "y", BRAID_FLOAT, BRAID_SHAPE(-1));
    const braid_variable slope =
        braid_variable_new(g, "slope", braid_zeros(g, BRAID_FLOAT, BRAID_SCALAR), true);
    const braid_variable height =
        braid_variable_new(g, "height", braid_zeros(g, BRAID_FLOAT, BRAID_SCALAR), true);
    const braid_out line = braid_add(g, braid_mul(g, x, slope.read), height.read);
    const braid_out loss = braid_reduce_mean(g, braid_square(g, braid_sub(g, line, y)));
    braid_op *step = braid_minimize(braid_gradient_descent(g, 0.05F), loss, braid_global_step(g));

    braid_tensor *xs = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(BATCH), NULL);
    braid_tensor *ys = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(BATCH), NULL);
    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){.session = task_session(t),
                                   .is_chief = t->is_chief,
                                   .hooks = BRAID_HOOKS(braid_stop_at_step(STEPS))});
    while (!braid_should_stop(s)) {
        draw(xs, ys);
        braid_run(s, BRAID_FEED({x, xs}, {y, ys}), NULL, step);
    }
    braid_tensor *a = NULL, *b = NULL;
    if (t->is_chief && !braid_evaluate(s, NULL, BRAID_FETCH({slope.read, &a}, {height.read, &b})))
        printf("y = %.2f x + %.2f\n", (double)*(const float *)braid_tensor_data(a),
               (double)*(const float *)braid_tensor_data(b));
    braid_tensor_free(a);
    braid_tensor_free(b);
    braid_tensor_free(xs);
    braid_tensor_free(ys);
    braid_monitored_session_status(s, status);
    braid_monitored_session_close(s);
    braid_graph_free(g);
    return braid_status_code(status);
}

int main(void)
{
    return task_main("linear_regression", train);
}
