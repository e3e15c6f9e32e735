// A small table of ops, for tests of the graph module alone. Include it in one file of the test.
#ifndef BD_GRAPH_TESTING_TEST_OPS_H
#define BD_GRAPH_TESTING_TEST_OPS_H

#include "base/testing/test.h"
#include "graph/grad.h"
#include "graph/op.h"
#include "graph/shape_fn.h"

// ---- Shape functions ----

static braid_code test_const_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = bd_node_attr_tensor(c->node, "value")->shape;
    return BRAID_OK;
}

static braid_code test_shape_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = bd_shape1(c->inputs[0].rank);
    return BRAID_OK;
}

static braid_code test_pack_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    if (c->inputs[0].rank == 0) c->outputs[0] = bd_shape1(c->input_count);
    return BRAID_OK;
}

static braid_code test_matmul_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < 2; i++) {
        braid_code code = bd_shape_ctx_rank(c, i, 2, st);
        if (code) return code;
    }
    c->outputs[0] = bd_shape2(c->inputs[0].rank < 0 ? -1 : c->inputs[0].dims[0],
                              c->inputs[1].rank < 0 ? -1 : c->inputs[1].dims[1]);
    return BRAID_OK;
}

// ---- Gradients ----

static void test_identity_gradient(bd_grad_ctx *c)
{
    bd_grad_pass(c, 0, 0);
}

static void test_neg_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = bd_b1(c->graph, "Neg", NULL, c->output_grads[0]);
}

static void test_mul_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = bd_b2(c->graph, "Mul", "mul", c->output_grads[0], c->op->inputs[1]);
    c->input_grads[1] = bd_b2(c->graph, "Mul", "mul", c->op->inputs[0], c->output_grads[0]);
}

static void test_split_gradient(bd_grad_ctx *c)
{
    braid_op_desc *d = braid_op_begin(c->graph, "AddN", "joined");
    braid_op_input_list(d, c->output_grads, c->op->output_count);
    c->input_grads[0] = braid_op_end_out(d);
}

// ---- The table ----

#define TEST_OP(NAME, ...)                                                                                   \
    {                                                                                                        \
#NAME, &(const bd_op)                                                                                \
        {                                                                                                    \
            .name = #NAME, __VA_ARGS__                                                                       \
        }                                                                                                    \
    }

const bd_op_entry bd_op_table[] = {
    TEST_OP(AccumulateNV2, .signature = "(inputs: N*T) -> (sum: T)",
            .attrs = "N:int>=1; T:type{number}; shape:shape", .shape = bd_shape_fn_from_attr),
    TEST_OP(Add, .signature = "(x: T, y: T) -> (z: T)", .attrs = "T:type{number}",
            .shape = bd_shape_fn_broadcast),
    TEST_OP(AddN, .signature = "(inputs: N*T) -> (sum: T)", .attrs = "N:int>=1; T:type{number}",
            .shape = bd_shape_fn_merged),
    TEST_OP(Assign, .signature = "(ref: Ref(T), value: T) -> (output_ref: Ref(T))",
            .attrs = "T:type; validate_shape:bool=true; use_locking:bool=true",
            .shape = bd_shape_fn_unchanged),
    TEST_OP(Cast, .signature = "(x: SrcT) -> (y: DstT)", .attrs = "SrcT:type; DstT:type",
            .shape = bd_shape_fn_unchanged),
    TEST_OP(ConcatV2, .signature = "(values: N*T, axis: Tidx) -> (output: T)",
            .attrs = "N:int>=2; T:type; Tidx:type{int32,int64}=int32", .shape = bd_shape_fn_none),
    TEST_OP(Const, .signature = "() -> (output: dtype)", .attrs = "value:tensor; dtype:type",
            .role = BD_ROLE_CONST, .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = test_const_shape),
    TEST_OP(Enter, .signature = "(data: T) -> (output: T)",
            .attrs = "T:type; frame_name:string; is_constant:bool=false; parallel_iterations:int=10",
            .role = BD_ROLE_ENTER, .shape = bd_shape_fn_unchanged),
    TEST_OP(Fill, .signature = "(dims: int32, value: T) -> (output: T)", .attrs = "T:type",
            .shape = bd_shape_fn_from_input0),
    TEST_OP(FloorDiv, .signature = "(x: T, y: T) -> (z: T)", .attrs = "T:type{number}",
            .shape = bd_shape_fn_broadcast),
    TEST_OP(Identity, .signature = "(input: T) -> (output: T)", .attrs = "T:type",
            .flags = BD_OP_IDENTITY | BD_OP_SPARSE_GRAD, .shape = bd_shape_fn_unchanged,
            .gradient = test_identity_gradient),
    TEST_OP(MatMul, .signature = "(a: T, b: T) -> (product: T)",
            .attrs = "transpose_a:bool=false; transpose_b:bool=false; +grad_a:bool=false; "
                     "T:type{float,double,int32}",
            .shape = test_matmul_shape),
    TEST_OP(Merge, .signature = "(inputs: N*T) -> (output: T, value_index: int32)",
            .attrs = "T:type; N:int>=1", .role = BD_ROLE_MERGE),
    TEST_OP(Mul, .signature = "(x: T, y: T) -> (z: T)", .attrs = "T:type{number}",
            .shape = bd_shape_fn_broadcast, .gradient = test_mul_gradient),
    TEST_OP(Neg, .signature = "(x: T) -> (y: T)", .attrs = "T:type{number}", .shape = bd_shape_fn_unchanged,
            .gradient = test_neg_gradient),
    TEST_OP(NextIteration, .signature = "(data: T) -> (output: T)", .attrs = "T:type",
            .role = BD_ROLE_NEXT_ITERATION, .shape = bd_shape_fn_unchanged),
    TEST_OP(NoOp, .signature = "() -> ()"),
    TEST_OP(Pack, .signature = "(values: N*T) -> (output: T)", .attrs = "N:int>=1; T:type; axis:int=0",
            .shape = test_pack_shape),
    TEST_OP(Placeholder, .signature = "() -> (output: dtype)", .attrs = "dtype:type; shape:shape=?",
            .role = BD_ROLE_PLACEHOLDER, .shape = bd_shape_fn_from_attr),
    TEST_OP(Pool, .signature = "(value: float) -> (output: float)",
            .attrs = "ksize:list(int)>=4; padding:string{SAME,VALID}; rates:list(float)=[0.5,1]"),
    TEST_OP(Prod, .signature = "(input: T, reduction_indices: Tidx) -> (output: T)",
            .attrs = "keep_dims:bool=false; T:type{number}; Tidx:type{int32,int64}=int32",
            .shape = bd_shape_fn_reduction),
    TEST_OP(QueueDequeue, .signature = "(handle: Ref(string)) -> (components: component_types...)",
            .attrs = "component_types:list(type)>=1"),
    TEST_OP(QueueEnqueue, .signature = "(handle: Ref(string), components: Tcomponents...) -> ()",
            .attrs = "Tcomponents:list(type)>=1; timeout_ms:int=-1"),
    TEST_OP(RandomUniform, .signature = "(shape: T) -> (output: dtype)",
            .attrs = "seed:int=0; seed2:int=0; dtype:type{half,float,double}; T:type{int32,int64}",
            .flags = BD_OP_STATEFUL, .shape = bd_shape_fn_from_input0),
    TEST_OP(Shape, .signature = "(input: T) -> (output: out_type)",
            .attrs = "T:type; out_type:type{int32,int64}=int32", .role = BD_ROLE_METADATA,
            .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = test_shape_shape),
    TEST_OP(Split, .signature = "(value: T) -> (output: num_split*T)", .attrs = "num_split:int>=1; T:type",
            .gradient = test_split_gradient),
    TEST_OP(StridedSlice, .signature = "(input: T, begin: Index, end: Index, strides: Index) -> (output: T)",
            .attrs =
                "T:type; Index:type{int32,int64}; begin_mask:int=0; end_mask:int=0; ellipsis_mask:int=0; "
                "new_axis_mask:int=0; shrink_axis_mask:int=0"),
    TEST_OP(Variable, .signature = "() -> (ref: Ref(dtype))",
            .attrs = "shape:shape; dtype:type; container:string=''; shared_name:string=''",
            .flags = BD_OP_STATEFUL, .role = BD_ROLE_VARIABLE, .shape = bd_shape_fn_from_attr),
    TEST_OP(ZerosLike, .signature = "(x: T) -> (y: T)", .attrs = "T:type", .shape = bd_shape_fn_unchanged),
    TEST_OP(_Arg, .signature = "() -> (output: T)", .attrs = "T:type; index:int", .role = BD_ROLE_ARG),
    TEST_OP(_Retval, .signature = "(input: T) -> ()", .attrs = "T:type; index:int", .role = BD_ROLE_RETVAL),
};
const size_t bd_op_table_len = BD_COUNTOF(bd_op_table);

// ---- Short forms ----

static inline braid_out test_placeholder(braid_graph *g, const char *name, braid_dtype dtype,
                                         braid_shape shape)
{
    braid_op_desc *d = braid_op_begin(g, "Placeholder", name);
    braid_op_attr_type(d, "dtype", dtype);
    braid_op_attr_shape(d, "shape", shape);
    return braid_op_end_out(d);
}

static inline braid_out test_variable(braid_graph *g, const char *name, braid_dtype dtype, braid_shape shape)
{
    braid_op_desc *d = braid_op_begin(g, "Variable", name);
    braid_op_attr_type(d, "dtype", dtype);
    braid_op_attr_shape(d, "shape", shape);
    return braid_op_end_out(d);
}

static inline braid_op *test_no_op(braid_graph *g, const char *name)
{
    return braid_op_end(braid_op_begin(g, "NoOp", name));
}

#define assert_graph_ok(g)                                                                                   \
    do {                                                                                                     \
        BD_STATUS(graph_st);                                                                                 \
        braid_graph_status((g), graph_st);                                                                   \
        assert_ok(graph_st);                                                                                 \
    } while (0)

#define assert_graph_error(g, code, text)                                                                    \
    do {                                                                                                     \
        BD_STATUS(graph_st);                                                                                 \
        braid_graph_status((g), graph_st);                                                                   \
        assert_error(graph_st, (code), (text));                                                              \
    } while (0)

#define assert_shape(shape_expr, text)                                                                       \
    do {                                                                                                     \
        braid_shape got_shape = (shape_expr);                                                                \
        assert_string_equal(bd_shape_str(&got_shape, (char[BD_SHAPE_STR_MAX]){0}), (text));                  \
    } while (0)

#endif
