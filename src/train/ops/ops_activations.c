// Activation functions.
#include "train/common/build.h"

#include <braid/ops.h>

braid_out braid_relu(braid_graph *g, braid_out x)
{
    return train_node1(g, "Relu", NULL, x);
}

braid_out braid_sigmoid(braid_graph *g, braid_out x)
{
    return train_node1(g, "Sigmoid", NULL, x);
}

braid_out braid_tanh(braid_graph *g, braid_out x)
{
    return train_node1(g, "Tanh", NULL, x);
}

braid_out braid_relu6(braid_graph *g, braid_out x)
{
    return train_node1(g, "Relu6", NULL, x);
}

braid_out braid_elu(braid_graph *g, braid_out x)
{
    return train_node1(g, "Elu", NULL, x);
}

braid_out braid_selu(braid_graph *g, braid_out x)
{
    return train_node1(g, "Selu", NULL, x);
}

braid_out braid_softplus(braid_graph *g, braid_out x)
{
    return train_node1(g, "Softplus", NULL, x);
}

braid_out braid_softsign(braid_graph *g, braid_out x)
{
    return train_node1(g, "Softsign", NULL, x);
}

braid_out braid_leaky_relu(braid_graph *g, braid_out x, double alpha)
{
    braid_op_desc *d = braid_op_begin(g, "LeakyRelu", NULL);
    braid_op_input(d, x);
    braid_op_attr_float(d, "alpha", (float)alpha);
    return braid_op_end_out(d);
}
