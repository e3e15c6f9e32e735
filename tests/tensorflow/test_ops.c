// The ops of TensorFlow's test library (framework/test_ops.cc). Its Python tests look by them at what a front
// end makes of arguments, attributes, lists, references and defaults. Few of the ops have kernels. Only the
// module of Python that runs those tests has them (cmake/BraidPython.cmake, target tensorflow_test_ops).
#include "base/alloc.h"
#include "ops/common/handle.h"

enum {
    TENSORFLOW_VERSION = 134 // GRAPH_DEF_VERSION of Python's versions
};

static braid_code vector_to_scalar(bd_shape_ctx *c, braid_status *st)
{
    return bd_shape_ctx_rank(c, 0, 1, st) ? st->code : bd_shape_fn_scalar(c, st);
}

static void nothing_run(bd_op_ctx *c)
{
    (void)c;
}

// ---- A resource that is there or not ----

static void stub_destroy(bd_resource *r)
{
    bd_free(r);
}

static const bd_resource_type stub_type = {.name = "StubResource", .destroy = stub_destroy};

static void stub_handle_run(bd_op_ctx *c)
{
    const char *shared = bd_node_attr_string(c->node, "shared_name");
    bd_output_handle(c, bd_node_attr_string(c->node, "container"), shared[0] ? shared : c->node->name,
                     &stub_type);
}

static braid_code stub_create(void *is_made, bd_resource **out, braid_status *st)
{
    (void)st;
    *(bool *)is_made = true;
    *out = bd_calloc(1, sizeof **out);
    bd_resource_init(*out, &stub_type);
    return BRAID_OK;
}

static void stub_create_run(bd_op_ctx *c)
{
    const bd_resource_handle *h = bd_tensor_handle(bd_input(c, 0));
    bool is_made = false;
    const bd_resource_spec spec = {h->container, h->name, &stub_type, stub_create, &is_made};
    BD_STATUS(st);
    bd_resource *r;
    if (bd_resources_lookup_or_create(c->step->resources, &spec, &r, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    if (!is_made)
        bd_op_fail(c, BRAID_ALREADY_EXISTS, "Resource %s/%s already exists.", h->container, h->name);
    bd_resource_unref(r);
}

static void stub_is_there_run(bd_op_ctx *c)
{
    const bd_resource_handle *h = bd_tensor_handle(bd_input(c, 0));
    BD_STATUS(st);
    bd_resource *r;
    const bool is_there = !bd_resources_lookup(c->step->resources, h->container, h->name, &stub_type, &r, st);
    if (is_there) bd_resource_unref(r);
    braid_tensor *y = bd_output(c, 0, BRAID_BOOL, &BD_SCALAR);
    if (y) bd_tensor_bool(y)[0] = is_there;
}

// ---- The version of the graph ----

static braid_code version_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    *(int *)state = node->graph->producer;
    return BRAID_OK;
}

static void version_run(bd_op_ctx *c)
{
    braid_tensor *y = bd_output(c, 0, BRAID_INT32, &BD_SCALAR);
    if (y) bd_tensor_i32(y)[0] = *(const int *)c->state;
}

static braid_code older_version_shape(bd_shape_ctx *c, braid_status *st)
{
    if (c->node->graph->producer != TENSORFLOW_VERSION - 1)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Wrong graph version for shape");
    return bd_shape_fn_scalar(c, st);
}

// ---- The ops ----

BD_OP(KernelLabel) = {
    .signature = "() -> (result: string)",
    .shape = bd_shape_fn_scalar,
    .doc = "A test's.",
};

BD_OP(KernelLabelRequired) = {
    .signature = "(input: int32) -> (result: string)",
    .shape = vector_to_scalar,
    .doc = "A test's.",
};

BD_OP(GraphDefVersion) = {
    .signature = "() -> (version: int32)",
    .flags = BD_OP_STATEFUL,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.state_size = sizeof(int), .create = version_create, .run = version_run}),
    .doc = "A test's.",
};

BD_OP(RequiresOlderGraphVersion) = {
    .signature = "() -> (version: int32)",
    .flags = BD_OP_STATEFUL,
    .shape = older_version_shape,
    .doc = "A test's.",
};

BD_OP(Old) = {
    .signature = "() -> ()",
    .kernels = BD_KERNELS({.run = nothing_run}),
    .doc = "A test's.",
};

BD_OP(StubResourceHandleOp) = {
    .signature = "() -> (resource: resource)",
    .attrs = "container:string=''; shared_name:string=''",
    .flags = BD_OP_STATEFUL,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = stub_handle_run}),
    .doc = "A test's.",
};

BD_OP(ResourceInitializedOp) = {
    .signature = "(resource: resource) -> (initialized: bool)",
    .shape = bd_shape_fn_scalar,
    .flags = BD_OP_STATEFUL,
    .kernels = BD_KERNELS({.run = stub_is_there_run}),
    .doc = "A test's.",
};

BD_OP(ResourceCreateOp) = {
    .signature = "(resource: resource) -> ()",
    .flags = BD_OP_STATEFUL,
    .kernels = BD_KERNELS({.run = stub_create_run}),
    .doc = "A test's.",
};

BD_OP(ResourceUsingOp) = {
    .signature = "(resource: resource) -> ()",
    .doc = "A test's.",
};

BD_OP(TestStringOutput) = {
    .signature = "(input: float) -> (output1: float, output2: string)",
    .doc = "A test's.",
};

BD_OP(TestAttr) = {
    .signature = "() -> (out: T)",
    .attrs = "T:type{float,double}",
    .doc = "A test's.",
};

BD_OP(A) = {
    .signature = "() -> (out: float)",
    .doc = "A test's.",
};

BD_OP(B) = {
    .signature = "() -> (out: float)",
    .doc = "A test's.",
};

BD_OP(Foo1) = {
    .signature = "(a: float, b: int32, c: int32) -> (d: float, e: int32)",
    .doc = "A test's.",
};

BD_OP(Foo2) = {
    .signature = "(a: float, b: string, c: string) -> (d: float, e: int32)",
    .doc = "A test's.",
};

BD_OP(Foo3) = {
    .signature = "(a: float, b: string, c: float) -> (d: float, e: int32)",
    .doc = "A test's.",
};

BD_OP(CopyOp) = {
    .signature = "(a: T) -> (b: T)",
    .attrs = "T:type",
    .doc = "A test's.",
};

BD_OP(None) = {
    .signature = "() -> ()",
    .doc = "A test's.",
};

BD_OP(IntOutput) = {
    .signature = "() -> (a: int32)",
    .doc = "A test's.",
};

BD_OP(Int64Output) = {
    .signature = "() -> (out: int64)",
    .doc = "A test's.",
};

BD_OP(RefOutput) = {
    .signature = "() -> (a: Ref(int32))",
    .doc = "A test's.",
};

BD_OP(FloatOutput) = {
    .signature = "() -> (a: float)",
    .doc = "A test's.",
};

BD_OP(TwoFloatOutputs) = {
    .signature = "() -> (a: float, b: float)",
    .doc = "A test's.",
};

BD_OP(FiveFloatOutputs) = {
    .signature = "() -> (a: float, b: float, c: float, d: float, e: float)",
    .doc = "A test's.",
};

BD_OP(RefOutputFloatOutput) = {
    .signature = "() -> (a: Ref(float), b: float)",
    .doc = "A test's.",
};

BD_OP(RefInputFloatInput) = {
    .signature = "(a: Ref(float), b: float) -> ()",
    .doc = "A test's.",
};

BD_OP(IntInput) = {
    .signature = "(a: int32) -> ()",
    .doc = "A test's.",
};

BD_OP(IntInputIntOutput) = {
    .signature = "(a: int32) -> (b: int32)",
    .doc = "A test's.",
};

BD_OP(FloatInput) = {
    .signature = "(a: float) -> ()",
    .doc = "A test's.",
};

BD_OP(TwoIntOutputs) = {
    .signature = "() -> (a: int32, b: int32)",
    .doc = "A test's.",
};

BD_OP(IntOutputFloatOutput) = {
    .signature = "() -> (a: int32, b: float)",
    .doc = "A test's.",
};

BD_OP(FloatOutputStringOutput) = {
    .signature = "() -> (a: float, b: string)",
    .doc = "A test's.",
};

BD_OP(TwoIntInputs) = {
    .signature = "(a: int32, b: int32) -> ()",
    .doc = "A test's.",
};

BD_OP(TwoFloatInputs) = {
    .signature = "(a: float, b: float) -> ()",
    .doc = "A test's.",
};

BD_OP(IntInputFloatInput) = {
    .signature = "(a: int32, b: float) -> ()",
    .doc = "A test's.",
};

BD_OP(RefInputIntInput) = {
    .signature = "(a: Ref(int32), b: int32) -> ()",
    .doc = "A test's.",
};

BD_OP(TwoFloatInputsFloatOutput) = {
    .signature = "(a: float, b: float) -> (c: float)",
    .doc = "A test's.",
};

BD_OP(TwoFloatInputsIntOutput) = {
    .signature = "(a: float, b: float) -> (c: int32)",
    .doc = "A test's.",
};

BD_OP(RefInputFloatInputIntOutput) = {
    .signature = "(a: Ref(float), b: float) -> (c: int32)",
    .doc = "A test's.",
};

BD_OP(ListInput) = {
    .signature = "(a: N*T) -> ()",
    .attrs = "N:int>=1; T:type",
    .doc = "A test's.",
};

BD_OP(ListOutput) = {
    .signature = "() -> (a: T...)",
    .attrs = "T:list(type)>=1",
    .doc = "A test's.",
};

BD_OP(Unary) = {
    .signature = "(a: T) -> (b: T)",
    .attrs = "T:type",
    .doc = "A test's.",
};

BD_OP(OpWithDefaultAttr) = {
    .signature = "() -> (a: int32)",
    .attrs = "default_float:float=123.0",
    .doc = "A test's.",
};

BD_OP(OpWithFutureDefaultAttr) = {
    .signature = "() -> ()",
    .doc = "A test's.",
};

BD_OP(IntAttr) = {
    .signature = "() -> (out: int64)",
    .attrs = "foo:int=1",
    .doc = "A test's.",
};

BD_OP(StringListAttr) = {
    .signature = "() -> ()",
    .attrs = "a:list(string); b:string",
    .doc = "A test's.",
};

BD_OP(DefaultAttrs) = {
    .signature = "() -> ()",
    .attrs = "string_val:string='abc'; string_list_val:list(string)=['abc','']; int_val:int=123; "
             "int_list_val:list(int)=[1,2,3]; float_val:float=10.0; "
             "float_list_val:list(float)=[10.0]; bool_val:bool=true; "
             "bool_list_val:list(bool)=[true,false]; type_val:type=int32; "
             "type_list_val:list(type)=[int32,float]; shape_val:shape=[2,1]; "
             "shape_list_val:list(shape)=[[],[1]]; "
             "tensor_val:tensor=dtype: DT_INT32 tensor_shape { } int_val: 1; "
             "tensor_list_val:list(tensor)=[dtype: DT_INT32 tensor_shape { } int_val: 1]",
    .doc = "A test's.",
};

BD_OP(FuncAttr) = {
    .signature = "() -> ()",
    .attrs = "f:func",
    .doc = "A test's.",
};

BD_OP(FuncListAttr) = {
    .signature = "() -> ()",
    .attrs = "f:list(func)",
    .doc = "A test's.",
};

BD_OP(Simple) = {
    .signature = "(a: int32) -> (out: float)",
    .doc = "A test's.",
};

BD_OP(OutT) = {
    .signature = "() -> (a: T)",
    .attrs = "T:type",
    .doc = "A test's.",
};

BD_OP(ReservedInput) = {
    .signature = "(input: int32) -> ()",
    .doc = "A test's.",
};

BD_OP(Polymorphic) = {
    .signature = "(a: T) -> (out: T)",
    .attrs = "T:type",
    .doc = "A test's.",
};

BD_OP(PolymorphicOut) = {
    .signature = "() -> (out: T)",
    .attrs = "T:type",
    .doc = "A test's.",
};

BD_OP(PolymorphicDefaultOut) = {
    .signature = "() -> (out: T)",
    .attrs = "T:type=string",
    .doc = "A test's.",
};

BD_OP(Binary) = {
    .signature = "(a: T, b: T) -> (out: T)",
    .attrs = "T:type",
    .doc = "A test's.",
};

BD_OP(Restrict) = {
    .signature = "(a: T) -> (out: T)",
    .attrs = "T:type{string,bool}",
    .doc = "A test's.",
};

BD_OP(TypeList) = {
    .signature = "(a: T...) -> ()",
    .attrs = "T:list(type)>=0",
    .doc = "A test's.",
};

BD_OP(TypeListTwice) = {
    .signature = "(a: T..., b: T...) -> ()",
    .attrs = "T:list(type)>=0",
    .doc = "A test's.",
};

BD_OP(OutTypeList) = {
    .signature = "() -> (out: T...)",
    .attrs = "T:list(type)>=0",
    .doc = "A test's.",
};

BD_OP(TypeListRestrict) = {
    .signature = "(a: T...) -> ()",
    .attrs = "T:list(type){string,bool}",
    .doc = "A test's.",
};

BD_OP(OutTypeListRestrict) = {
    .signature = "() -> (out: t...)",
    .attrs = "t:list(type){string,bool}",
    .doc = "A test's.",
};

BD_OP(Attr) = {
    .signature = "() -> ()",
    .attrs = "a:int",
    .doc = "A test's.",
};

BD_OP(AttrFloat) = {
    .signature = "() -> ()",
    .attrs = "a:float",
    .doc = "A test's.",
};

BD_OP(AttrBool) = {
    .signature = "() -> ()",
    .attrs = "a:bool",
    .doc = "A test's.",
};

BD_OP(AttrBoolList) = {
    .signature = "() -> ()",
    .attrs = "a:list(bool)",
    .doc = "A test's.",
};

BD_OP(AttrMin) = {
    .signature = "() -> ()",
    .attrs = "a:int>=5",
    .doc = "A test's.",
};

BD_OP(AttrListMin) = {
    .signature = "() -> ()",
    .attrs = "a:list(int)>=2",
    .doc = "A test's.",
};

BD_OP(AttrEnum) = {
    .signature = "() -> ()",
    .attrs = "a:string{apples,oranges}",
    .doc = "A test's.",
};

BD_OP(AttrEnumList) = {
    .signature = "() -> ()",
    .attrs = "a:list(string){apples,oranges}",
    .doc = "A test's.",
};

BD_OP(AttrShape) = {
    .signature = "() -> ()",
    .attrs = "a:shape",
    .doc = "A test's.",
};

BD_OP(AttrShapeList) = {
    .signature = "() -> ()",
    .attrs = "a:list(shape)",
    .doc = "A test's.",
};

BD_OP(AttrPartialShape) = {
    .signature = "() -> ()",
    .attrs = "a:shape",
    .doc = "A test's.",
};

BD_OP(AttrPartialShapeList) = {
    .signature = "() -> ()",
    .attrs = "a:list(shape)",
    .doc = "A test's.",
};

BD_OP(AttrDefault) = {
    .signature = "() -> ()",
    .attrs = "a:string='banana'",
    .doc = "A test's.",
};

BD_OP(AttrListDefault) = {
    .signature = "() -> ()",
    .attrs = "a:list(int)=[5,15]",
    .doc = "A test's.",
};

BD_OP(AttrEmptyListDefault) = {
    .signature = "() -> ()",
    .attrs = "a:list(float)=[]",
    .doc = "A test's.",
};

BD_OP(ReservedAttr) = {
    .signature = "() -> ()",
    .attrs = "range:int",
    .doc = "A test's.",
};

BD_OP(AttrTypeDefault) = {
    .signature = "(a: T) -> ()",
    .attrs = "T:type=int32",
    .doc = "A test's.",
};

BD_OP(AttrListTypeDefault) = {
    .signature = "(a: N*T, b: N*T) -> ()",
    .attrs = "T:type=int32; N:int",
    .doc = "A test's.",
};

BD_OP(NIntsIn) = {
    .signature = "(a: N*int32) -> ()",
    .attrs = "N:int>=2",
    .doc = "A test's.",
};

BD_OP(NPolymorphicIn) = {
    .signature = "(a: N*T) -> ()",
    .attrs = "T:type; N:int>=2",
    .doc = "A test's.",
};

BD_OP(NPolymorphicRestrictIn) = {
    .signature = "(a: N*T) -> ()",
    .attrs = "T:type{string,bool}; N:int>=2",
    .doc = "A test's.",
};

BD_OP(NInTwice) = {
    .signature = "(a: N*int32, b: N*string) -> ()",
    .attrs = "N:int>=0",
    .doc = "A test's.",
};

BD_OP(NInPolymorphicTwice) = {
    .signature = "(a: N*T, b: N*T) -> ()",
    .attrs = "T:type; N:int>=0",
    .doc = "A test's.",
};

BD_OP(NInTwoTypeVariables) = {
    .signature = "(a: N*S, b: N*T) -> ()",
    .attrs = "S:type; T:type; N:int>=0",
    .doc = "A test's.",
};

BD_OP(InPolymorphicTwice) = {
    .signature = "(a: N*T, b: M*T) -> ()",
    .attrs = "T:type; N:int>=0; M:int>=0",
    .doc = "A test's.",
};

BD_OP(NIntsOut) = {
    .signature = "() -> (a: N*int32)",
    .attrs = "N:int>=2",
    .doc = "A test's.",
};

BD_OP(NIntsOutDefault) = {
    .signature = "() -> (a: N*int32)",
    .attrs = "N:int>=2=3",
    .doc = "A test's.",
};

BD_OP(NPolymorphicOut) = {
    .signature = "() -> (a: N*T)",
    .attrs = "T:type; N:int>=2",
    .doc = "A test's.",
};

BD_OP(NPolymorphicOutDefault) = {
    .signature = "() -> (a: N*T)",
    .attrs = "T:type=bool; N:int>=2=2",
    .doc = "A test's.",
};

BD_OP(NPolymorphicRestrictOut) = {
    .signature = "() -> (a: N*T)",
    .attrs = "T:type{string,bool}; N:int>=2",
    .doc = "A test's.",
};

BD_OP(RefIn) = {
    .signature = "(a: Ref(T)) -> ()",
    .attrs = "T:type",
    .doc = "A test's.",
};

BD_OP(TwoRefsIn) = {
    .signature = "(a: Ref(T), b: Ref(T)) -> ()",
    .attrs = "T:type",
    .doc = "A test's.",
};

BD_OP(RefOut) = {
    .signature = "() -> (a: Ref(T))",
    .attrs = "T:type",
    .doc = "A test's.",
};

BD_OP(SimpleStruct) = {
    .signature = "() -> (a: n_a*int32)",
    .attrs = "n_a:int>=0",
    .doc = "A test's.",
};

BD_OP(MixedStruct) = {
    .signature = "() -> (a: n_a*int32, b: float)",
    .attrs = "n_a:int>=0",
    .doc = "A test's.",
};

BD_OP(ComplexStruct) = {
    .signature = "() -> (a: n_a*int32, b: n_b*int64, c: t_c...)",
    .attrs = "n_a:int>=0; n_b:int>=0; t_c:list(type)>=0",
    .doc = "A test's.",
};
