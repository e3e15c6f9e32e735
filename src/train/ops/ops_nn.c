// Matrices, the functions of network layers, and losses.
#include "train/common/build.h"

#include <braid/ops.h>

braid_out braid_matmul(braid_graph *g, braid_out a, braid_out b)
{
    return train_node2(g, "MatMul", NULL, a, b);
}

braid_out braid_matmul_transposed(braid_graph *g, braid_out a, braid_out b, bool transpose_a,
                                  bool transpose_b)
{
    braid_op_desc *d = braid_op_begin(g, "MatMul", NULL);
    braid_op_input(d, a);
    braid_op_input(d, b);
    braid_op_attr_bool(d, "transpose_a", transpose_a);
    braid_op_attr_bool(d, "transpose_b", transpose_b);
    return braid_op_end_out(d);
}

braid_out braid_bias_add(braid_graph *g, braid_out value, braid_out bias)
{
    return train_node2(g, "BiasAdd", NULL, value, bias);
}

braid_out braid_xw_plus_b(braid_graph *g, braid_out x, braid_out w, braid_out b)
{
    const char *scope = braid_push_name_scope(g, "xw_plus_b");
    braid_out product = braid_matmul(g, x, w);
    braid_out out = train_node2(g, "BiasAdd", scope, product, b);
    braid_pop_name_scope(g);
    return out;
}

braid_out braid_softmax(braid_graph *g, braid_out logits)
{
    return train_node1(g, "Softmax", NULL, logits);
}

braid_out braid_log_softmax(braid_graph *g, braid_out logits)
{
    return train_node1(g, "LogSoftmax", NULL, logits);
}

braid_out braid_in_top_k(braid_graph *g, braid_out predictions, braid_out targets, int k)
{
    (void)braid_push_name_scope(g, "in_top_k");
    const char *scope = braid_push_name_scope(g, "InTopKV2");
    const braid_out count = braid_const_number(g, "k", train_base_dtype(braid_out_dtype(targets)), k);
    braid_pop_name_scope(g);
    const braid_out out = train_node3(g, "InTopKV2", scope, predictions, targets, count);
    braid_pop_name_scope(g);
    return out;
}

// ---- Losses ----

braid_out braid_l2_loss(braid_graph *g, braid_out x)
{
    return train_node1(g, "L2Loss", NULL, x);
}

// x as a matrix [-1, last dimension].
static braid_out flatten_outer(braid_graph *g, braid_out x, braid_out rank)
{
    braid_out shape = train_shape_of(g, x);
    braid_out last = train_op_number(g, "Sub", "Sub", rank, 1);
    const int32_t one[] = {1}, minus_one[] = {-1};
    const char *scope = braid_push_name_scope(g, "Slice");
    braid_out begin = train_stack(g, "begin", &last, 1);
    braid_out size = braid_const_int32s(g, "size", one, 1);
    braid_pop_name_scope(g);
    braid_out width = train_node3(g, "Slice", scope, shape, begin, size);

    scope = braid_push_name_scope(g, "concat");
    braid_out parts[] = {braid_const_int32s(g, "values_0", minus_one, 1), width};
    braid_out axis = braid_const_int32(g, "axis", 0);
    braid_pop_name_scope(g);
    braid_op_desc *d = braid_op_begin(g, "ConcatV2", scope);
    braid_op_input_list(d, parts, 2);
    braid_op_input(d, axis);
    return train_node2(g, "Reshape", NULL, x, braid_op_end_out(d));
}

// The nodes of tf.nn.softmax_cross_entropy_with_logits of TensorFlow 1.3: all dimensions but the last are
// joined to one, and the losses are shaped back.
braid_out braid_softmax_cross_entropy(braid_graph *g, braid_out logits, braid_out labels)
{
    if (!logits.op || !labels.op) return BRAID_NONE;
    labels = braid_cast(g, labels, train_base_dtype(braid_out_dtype(logits)));
    braid_out rank = train_rank_of(g, logits);
    braid_out shape = train_shape_of(g, logits);
    braid_out flat_logits = flatten_outer(g, logits, train_rank_of(g, logits));
    braid_out flat_labels = flatten_outer(g, labels, train_rank_of(g, labels));
    braid_out losses = train_node2(g, "SoftmaxCrossEntropyWithLogits", NULL, flat_logits, flat_labels);

    braid_out outer = train_op_number(g, "Sub", "Sub", rank, 1);
    const int32_t zero[] = {0};
    const char *scope = braid_push_name_scope(g, "Slice");
    braid_out begin = braid_const_int32s(g, "begin", zero, 1);
    braid_out size = train_stack(g, "size", &outer, 1);
    braid_pop_name_scope(g);
    return train_node2(g, "Reshape", NULL, losses, train_node3(g, "Slice", scope, shape, begin, size));
}

// max(x, 0) - x * z + log(1 + exp(-|x|)), which does not overflow.
braid_out braid_sigmoid_cross_entropy(braid_graph *g, braid_out logits, braid_out labels)
{
    return train_sigmoid_cross_entropy(g, "logistic_loss", logits, labels);
}

braid_out train_sigmoid_cross_entropy(braid_graph *g, const char *name, braid_out logits, braid_out labels)
{
    const char *scope = braid_push_name_scope(g, name);
    const braid_out zeros = train_node1(g, "ZerosLike", "zeros_like", logits);
    const braid_out positive = train_node2(g, "GreaterEqual", NULL, logits, zeros);
    const braid_out relu = train_node3(g, "Select", NULL, positive, logits, zeros);
    const braid_out minus_abs = train_node3(g, "Select", NULL, positive, braid_neg(g, logits), logits);
    const braid_out linear = braid_sub(g, relu, braid_mul(g, logits, labels));
    const braid_out rest = train_node1(g, "Log1p", NULL, braid_exp(g, minus_abs));
    braid_pop_name_scope(g);
    return train_node2(g, "Add", scope, linear, rest);
}

// Logits of more than two dimensions are made a matrix, and the losses get the shape of the labels.
braid_out braid_sparse_softmax_cross_entropy(braid_graph *g, braid_out logits, braid_out labels)
{
    static const char op[] = "SparseSoftmaxCrossEntropyWithLogits";
    const braid_shape shape = braid_out_shape(logits);
    if (!logits.op || !labels.op) return BRAID_NONE;
    (void)braid_push_name_scope(g, op);
    braid_out out, of_labels = train_shape_of(g, labels);
    if (shape.rank <= 2) {
        out = train_node2(g, op, NULL, logits, labels);
    } else {
        const int64_t classes = shape.dims[shape.rank - 1];
        if (classes < 0)
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: the last dimension of '%s' must be known", op,
                             braid_op_name(logits.op));
        logits = braid_reshape(g, logits, BRAID_SHAPE(-1, classes));
        out = train_node2(g, op, NULL, logits, braid_reshape(g, labels, BRAID_SHAPE(-1)));
        out = train_node2(g, "Reshape", NULL, out, of_labels);
    }
    braid_pop_name_scope(g);
    return out;
}
