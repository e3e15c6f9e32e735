// Logistic regression in one process, with checkpoints, summaries for TensorBoard and a line of progress:
//
//     logistic_regression [DIRECTORY [STEPS]]
//
// A second run with the same directory and more steps goes on where the first one ended.
#include <braid/braid.h>
#include <stdio.h>
#include <stdlib.h>

#define POINTS 1000
#define FEATURES 3

// Random points, and whether they are above a plane, which is what the model is to find out.
static void draw_points(braid_tensor *points, braid_tensor *above)
{
    float *x = braid_tensor_data(points), *y = braid_tensor_data(above);
    for (int i = 0; i < POINTS; i++) {
        float height = -0.25F;
        for (int k = 0; k < FEATURES; k++) {
            x[i * FEATURES + k] = (float)rand() / (float)RAND_MAX - 0.5F;
            height += (float)(k + 1) * x[i * FEATURES + k];
        }
        y[i] = height > 0;
    }
}

int main(int argc, char **argv)
{
    if (argc > 3 || (argc > 1 && argv[1][0] == '-')) {
        fprintf(stderr, "usage: logistic_regression [DIRECTORY [STEPS]]\n");
        return 2;
    }
    const char *directory = argc > 1 ? argv[1] : NULL;
    const int64_t steps = argc > 2 ? atoll(argv[2]) : 1000;

    braid_graph *g = braid_graph_new();
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, FEATURES));
    braid_out y = braid_placeholder(g, "y", BRAID_FLOAT, BRAID_SHAPE(-1, 1));
    braid_out logits = braid_dense(g, "model", x, 1);
    braid_out loss = braid_reduce_mean(g, braid_sigmoid_cross_entropy(g, logits, y));
    braid_out right = braid_equal(g, braid_round(g, braid_sigmoid(g, logits)), y);
    braid_out accuracy = braid_reduce_mean(g, braid_cast(g, right, BRAID_FLOAT));
    braid_op *train = braid_minimize(braid_gradient_descent(g, 1), loss, braid_global_step(g));
    braid_summary_scalar(g, "loss", loss);
    braid_summary_scalar(g, "accuracy", accuracy);

    braid_tensor *points = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(POINTS, FEATURES), NULL);
    braid_tensor *above = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(POINTS, 1), NULL);
    draw_points(points, above);

    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){.checkpoint_dir = directory,
                                   .hooks =
                                       BRAID_HOOKS(braid_stop_at_step(steps), braid_progress(loss, steps))});
    while (!braid_should_stop(s))
        braid_run(s, BRAID_FEED({x, points}, {y, above}), NULL, train);

    braid_tensor *part = NULL;
    if (!braid_evaluate(s, BRAID_FEED({x, points}, {y, above}), BRAID_FETCH({accuracy, &part})))
        printf("accuracy: %.3f\n", (double)*(const float *)braid_tensor_data(part));
    braid_tensor_free(part);
    braid_tensor_free(points);
    braid_tensor_free(above);
    const braid_code code = braid_monitored_session_close(s);
    braid_graph_free(g);
    return braid_exit_code(code);
}
