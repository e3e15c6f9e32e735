// Adds a bias and applies an activation to a product, in one pass over its result.
#include "ops/nn/epilogue.h"

#include "base/check.h"
#include "base/interrupt.h"
#include "kernels/broadcast.h"
#include <string.h>

static const struct activation {
    const char *op;
    bd_unary_op unary;
} activations[] = {
    {"Relu", BD_RELU}, {"Relu6", BD_RELU6}, {"Elu", BD_ELU}, {"Tanh", BD_TANH}, {"Sigmoid", BD_SIGMOID},
};

// ---- Running ----

static braid_code fail_ops(const braid_op *node, braid_status *st)
{
    return bd_fail(
        st, BRAID_INVALID_ARGUMENT,
        "%s '%s': fused_ops must be BiasAdd or Add, perhaps with an activation behind it, with one more input",
        node->op_type, node->name);
}

const char *bd_epilogue_activation(const braid_op *node)
{
    const bd_attr *ops = bd_node_attr(node, "fused_ops");
    return ops && ops->list.count == 2 ? ops->list.s[1].data : NULL;
}

braid_code bd_epilogue_bind(const braid_op *node, bd_epilogue *e, braid_status *st)
{
    const bd_attr *ops = bd_node_attr(node, "fused_ops");
    const char *activation = bd_epilogue_activation(node);
    bd_number type = bd_number_of(bd_node_attr_type(node, "T"));
    if (!ops || ops->list.count < 1 || ops->list.count > 2 || bd_node_attr_int(node, "num_args") != 1)
        return fail_ops(node, st);
    e->adds_any = strcmp(ops->list.s[0].data, "Add") == 0;
    if (!e->adds_any && strcmp(ops->list.s[0].data, "BiasAdd") != 0) return fail_ops(node, st);
    e->add = bd_kernels()->binary[BD_ADD][type];
    e->size = braid_dtype_size(bd_node_attr_type(node, "T"));
    for (size_t i = 0; activation && i < BD_COUNTOF(activations); i++) {
        if (strcmp(activations[i].op, activation) == 0)
            e->activation = bd_kernels()->unary[activations[i].unary][type];
    }
    return activation && !e->activation ? fail_ops(node, st) : BRAID_OK;
}

enum {
    BIAS_PART = 1 // part 0 is the product
};

const braid_tensor *bd_epilogue_bias(const bd_op_ctx *c, int64_t features)
{
    const braid_tensor *bias = bd_input(c, 2);
    return bias->shape.rank == 1 && bias->shape.dims[0] == features ? bias : NULL;
}

static void fail_bias(bd_op_ctx *c)
{
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "Must provide as many biases as the last dimension of the input tensor: %s vs. %s",
               bd_shape_str(&bd_input(c, 2)->shape, a), bd_shape_str(&c->outputs[0].tensor.shape, b));
    bd_op_fail_part(c, BIAS_PART);
}

// Output 0 = op(output 0), or op(output 0, input 2) when there are two inputs.
static void run_apart(bd_op_ctx *c, void (*run)(bd_op_ctx *c), void *state, int count, int part)
{
    bd_value operands[2] = {c->outputs[0]}, result = {0};
    c->outputs[0] = (bd_value){0};
    if (count > 1) bd_tensor_ref(&operands[1].tensor, bd_input(c, 2));
    bd_op_ctx one = {.node = c->node,
                     .state = state,
                     .inputs = operands,
                     .outputs = &result,
                     .input_count = count,
                     .output_count = 1,
                     .step = c->step};
    run(&one);
    bd_value_fini(&operands[0]);
    bd_value_fini(&operands[1]);
    c->outputs[0] = result;
    if (!bd_op_failed(&one)) return;
    bd_op_fail_status(c, &one.status);
    bd_op_fail_part(c, part);
    bd_status_fini(&one.status);
}

void bd_epilogue_apart(bd_op_ctx *c, const bd_epilogue *e)
{
    if (!e->adds_any) {
        fail_bias(c);
        return;
    }
    run_apart(c, bd_binary_run, &(bd_binary_state){e->add, BD_ADD}, 2, BIAS_PART);
    if (!bd_op_failed(c) && e->activation)
        run_apart(c, bd_unary_run, &(bd_unary_state){.fn = e->activation}, 1, BIAS_PART + 1);
}

// The rows of a piece that stays in the second-level cache between the two passes. Pieces are a multiple of
// any vector's width, so each element is computed by the same instructions as by the activation's own kernel.
static int64_t rows_of_piece(int64_t features)
{
    enum {
        PIECE = 32768, // elements of a piece
        // rows are taken in multiples of 64, so the elements of a piece are such a multiple for any number of
        // features
        TOGETHER = 64
    };
    int64_t groups = PIECE / (TOGETHER * (features > 0 ? features : 1));
    return (groups > 0 ? groups : 1) * TOGETHER;
}

void bd_epilogue_run(const bd_epilogue *e, void *y, const void *bias, int64_t rows, int64_t features)
{
    int64_t piece = rows_of_piece(features);
    char *at = y;
    if (features == 0) return;
    for (int64_t left = rows; left > 0 && !bd_interrupted(); left -= piece) {
        int64_t count = bd_min(left, piece);
        bd_broadcast walk;
        bd_broadcast_init(&walk, (int64_t[]){count, features}, 2, (int64_t[]){features}, 1);
        bd_broadcast_run(&walk, e->add, at, bias, e->size, at, e->size);
        if (e->activation) e->activation(at, at, count * features);
        at += (size_t)(count * features) * e->size;
    }
}

// ---- Fusing ----

// The nodes that one fused node replaces.
typedef struct match {
    braid_op *product, *bias_add, *activation; // activation may be NULL
    braid_out bias;
} match;

// Finds the vector that `n` adds along the last dimension to its other input, which is output 0 of `product`.
static bool find_bias(const braid_op *n, const braid_op *product, braid_out *bias)
{
    if (strcmp(n->op_type, "BiasAdd") == 0) {
        *bias = n->inputs[1];
        return n->inputs[0].op == product && strcmp(bd_node_attr_string(n, "data_format"), "NHWC") == 0;
    }
    if (strcmp(n->op_type, "BiasAddV1") == 0) {
        *bias = n->inputs[1];
        return n->inputs[0].op == product;
    }
    if (strcmp(n->op_type, "Add") != 0 && strcmp(n->op_type, "AddV2") != 0) return false;
    *bias = n->inputs[n->inputs[0].op == product ? 1 : 0];
    braid_shape vector = braid_out_shape(*bias), result = product->output_shapes[0];
    return vector.rank == 1 && vector.dims[0] > 0 && result.rank > 1 &&
           result.dims[result.rank - 1] == vector.dims[0];
}

static bool is_among(const char *op, const char *const *list)
{
    for (; *list; list++) {
        if (strcmp(*list, op) == 0) return true;
    }
    return false;
}

// Features lie along the last dimension.
static bool is_channels_last(const braid_op *n)
{
    return !bd_node_attr(n, "data_format") || strcmp(bd_node_attr_string(n, "data_format"), "NHWC") == 0;
}

static bool find_match(bd_rewriter *r, const bd_epilogue_fusion *f, braid_op *n, match *m)
{
    *m = (match){.product = n};
    if (bd_rewriter_is_removed(r, n) || strcmp(n->op_type, f->op) != 0 || !bd_rewriter_is_pure(n) ||
        !is_channels_last(n))
        return false;
    braid_dtype type = n->output_types[0];
    m->bias_add = bd_rewriter_only_consumer(r, n);
    if ((type != BRAID_FLOAT && type != BRAID_DOUBLE) || !m->bias_add || !bd_rewriter_is_pure(m->bias_add) ||
        !find_bias(m->bias_add, n, &m->bias))
        return false;
    braid_op *next = bd_rewriter_only_consumer(r, m->bias_add);
    if (next && is_among(next->op_type, f->activations) && bd_rewriter_is_pure(next) &&
        next->control_count == 0)
        m->activation = next;
    // Otherwise the product would read its variables later than it did before the fusion.
    return m->bias_add->control_count == 0 &&
           (!bd_rewriter_follows_update(r, m->bias.op) || bd_rewriter_follows_update(r, m->product));
}

static bd_bytes bytes_of(const char *text)
{
    return (bd_bytes){.data = text, .len = strlen(text)};
}

static void add_controls(bd_op_list *controls, const braid_op *n)
{
    for (int i = 0; n && i < n->control_count; i++)
        bd_array_push(controls, n->controls[i]);
}

static braid_code replace(bd_rewriter *r, const bd_epilogue_fusion *f, const match *m, braid_status *st)
{
    braid_op *last = m->activation ? m->activation : m->bias_add;
    int parts = m->activation ? 3 : 2;
    bool is_bias = strncmp(m->bias_add->op_type, "BiasAdd", strlen("BiasAdd")) == 0;
    bd_bytes ops[] = {bytes_of(is_bias ? "BiasAdd" : "Add"), bytes_of(last->op_type)};
    bd_bytes names[] = {bytes_of(m->product->name),  bytes_of(m->product->op_type),
                        bytes_of(m->bias_add->name), bytes_of(m->bias_add->op_type),
                        bytes_of(last->name),        bytes_of(last->op_type)};
    const bd_named_attr own[] = {{.name = BD_FUSED_NODES_ATTR,
                                  .value = {.kind = BD_ATTR_LIST,
                                            .item_kind = BD_ATTR_STRING,
                                            .list = {.count = 2 * parts, .s = names}}},
                                 {.name = "fused_ops",
                                  .value = {.kind = BD_ATTR_LIST,
                                            .item_kind = BD_ATTR_STRING,
                                            .list = {.count = parts - 1, .s = ops}}},
                                 {.name = "num_args", .value = {.kind = BD_ATTR_INT, .i = 1}}};
    BD_ARRAY(bd_named_attr) attrs = {0};
    for (size_t i = 0; i < BD_COUNTOF(own); i++)
        bd_array_push(&attrs, own[i]);
    for (int i = 0; i < m->product->attr_count; i++) {
        const char *name = m->product->attrs[i].name;
        if (*name != '_' && bd_op_def_attr(bd_op_lookup(f->fused), name))
            bd_array_push(&attrs, m->product->attrs[i]);
    }
    bd_op_list controls = {0};
    add_controls(&controls, m->product);
    add_controls(&controls, m->bias_add);
    add_controls(&controls, m->activation);
    const braid_out inputs[] = {m->product->inputs[0], m->product->inputs[1], m->bias};
    const bd_node_spec spec = {.op_type = f->fused,
                               .inputs = inputs,
                               .input_count = 3,
                               .controls = controls.items,
                               .control_count = (int)controls.len,
                               .attrs = attrs.items,
                               .attr_count = (int)attrs.len};
    braid_code code = bd_rewriter_become(r, last, &spec, st);
    if (!code && m->activation) bd_rewriter_remove(r, m->bias_add);
    if (!code) bd_rewriter_remove(r, m->product);
    bd_array_free(&attrs);
    bd_array_free(&controls);
    return code;
}

braid_code bd_epilogue_fuse(bd_rewriter *r, const bd_epilogue_fusion *f, braid_status *st)
{
    const bd_op_list *order = bd_rewriter_order(r);
    braid_code code = BRAID_OK;
    for (size_t i = 0; !code && i < order->len; i++) {
        match m;
        if (find_match(r, f, order->items[i], &m)) code = replace(r, f, &m, st);
    }
    return code;
}
