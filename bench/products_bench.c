// The matrix products and convolutions of a training step, without its rest: `products_bench mnist|cnn`.
// A step runs each of them once, on variables of the shapes that the network has, on one thread.
#include "models.h"

typedef struct products {
    braid_graph *graph;
    braid_op *all[16];
    int count;
} products;

static braid_out operand(products *p, braid_shape shape)
{
    return braid_variable_new(p->graph, NULL, braid_truncated_normal(p->graph, shape, 0, 0.1f), true).read;
}

// ---- Products of matrices: a layer [batch, in] x [in, out] and its gradients ----

static void dense(products *p, int64_t batch, int64_t in, int64_t out, bool has_input_gradient)
{
    braid_graph *g = p->graph;
    const braid_out x = operand(p, BRAID_SHAPE(batch, in)), w = operand(p, BRAID_SHAPE(in, out)),
                    dy = operand(p, BRAID_SHAPE(batch, out));
    p->all[p->count++] = braid_matmul(g, x, w).op;
    p->all[p->count++] = braid_matmul_transposed(g, x, dy, true, false).op;
    if (has_input_gradient) p->all[p->count++] = braid_matmul_transposed(g, dy, w, false, true).op;
}

// ---- Convolutions of [batch, side, side, in] by 5 x 5, and their gradients ----

static void gradient(products *p, const char *type, braid_out first, const int32_t *sizes, braid_out last)
{
    const int64_t strides[] = {1, 1, 1, 1};
    braid_op_desc *d = braid_op_begin(p->graph, type, NULL);
    const bool is_filter = strcmp(type, "Conv2DBackpropFilter") == 0;
    const braid_out dims = braid_const_int32s(p->graph, NULL, sizes, 4);
    braid_op_input(d, is_filter ? first : dims);
    braid_op_input(d, is_filter ? dims : first);
    braid_op_input(d, last);
    braid_op_attr_int_list(d, "strides", strides, 4);
    braid_op_attr_string(d, "padding", "SAME");
    p->all[p->count++] = braid_op_end(d);
}

static void conv(products *p, int32_t side, int32_t in, int32_t out, bool has_input_gradient)
{
    enum {
        BATCH = BENCH_CNN_BATCH
    };
    const int32_t x_sizes[] = {BATCH, side, side, in}, w_sizes[] = {5, 5, in, out};
    const braid_out x = operand(p, BRAID_SHAPE(BATCH, side, side, in)),
                    w = operand(p, BRAID_SHAPE(5, 5, in, out)),
                    dy = operand(p, BRAID_SHAPE(BATCH, side, side, out));
    p->all[p->count++] = braid_conv2d(p->graph, x, w, 1, BRAID_SAME).op;
    gradient(p, "Conv2DBackpropFilter", x, w_sizes, dy);
    if (has_input_gradient) gradient(p, "Conv2DBackpropInput", w, x_sizes, dy);
}

int main(int argc, char **argv)
{
    const char *network = argc == 2 ? argv[1] : "";
    products p = {.graph = braid_graph_new()};
    if (!strcmp(network, "mnist")) {
        dense(&p, BENCH_MNIST_BATCH, BENCH_PIXELS, BENCH_MNIST_HIDDEN, false);
        dense(&p, BENCH_MNIST_BATCH, BENCH_MNIST_HIDDEN, BENCH_CLASSES, true);
    } else if (!strcmp(network, "cnn")) {
        conv(&p, 28, 1, 32, false);
        conv(&p, 14, 32, 64, true);
        dense(&p, BENCH_CNN_BATCH, 7 * 7 * 64, BENCH_CNN_UNITS, true);
        dense(&p, BENCH_CNN_BATCH, BENCH_CNN_UNITS, BENCH_CLASSES, true);
    } else
        bench_check(0, "usage", "products_bench mnist|cnn");
    bench_step b = {.target = braid_group(p.graph, "step", p.all, p.count)};
    braid_op *init = braid_global_variables_initializer(p.graph);
    b.session = bench_open(p.graph, NULL, BRAID_REWRITE_ALL); // off: they would leave the products out
    bench_run(b.session, NULL, 0, init);
    bench_serve(bench_step_run, &b, 1);
    braid_session_close(b.session, NULL);
    braid_graph_free(p.graph);
    return 0;
}
