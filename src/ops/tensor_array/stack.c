// Stacks of tensors that live for one step: loops keep values for their gradients in them.
#include "base/alloc.h"
#include "base/array.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/handle.h"

typedef struct stack {
    bd_resource base;
    char *name; // owned; for messages
    bd_mutex mu;
    braid_dtype elem_type;
    int64_t max_size;             // negative: no limit
    bool is_closed;               // guarded by mu
    BD_ARRAY(braid_tensor) items; // guarded by mu
} stack;

static void clear_locked(stack *s)
{
    for (size_t i = 0; i < s->items.len; i++)
        bd_tensor_fini(&s->items.items[i]);
    bd_array_free(&s->items);
}

static void stack_destroy(bd_resource *r)
{
    stack *s = BD_CONTAINER_OF(r, stack, base);
    clear_locked(s);
    bd_mutex_fini(&s->mu);
    bd_free(s->name);
    bd_free(s);
}

static const bd_resource_type stack_type = {.name = "Stack", .destroy = stack_destroy};

// ---- Making and finding ----

static void make_stack(bd_op_ctx *c, int64_t max_size)
{
    const char *given = bd_node_attr_string(c->node, "stack_name");
    stack *s = bd_calloc(1, sizeof *s);
    s->name = bd_strdup(given[0] ? given : c->node->name);
    bd_resource_init(&s->base, &stack_type);
    bd_mutex_init(&s->mu);
    s->elem_type = bd_node_attr_type(c->node, "elem_type");
    s->max_size = max_size;
    bd_output_step_resource(c, s->name, &s->base, NULL);
}

static void stack_run(bd_op_ctx *c)
{
    make_stack(c, -1);
}

static void stack_v2_run(bd_op_ctx *c)
{
    const braid_tensor *size = bd_input(c, 0);
    char text[BD_SHAPE_STR_MAX];
    if (size->shape.rank == 0) {
        make_stack(c, *bd_tensor_i32(size));
    } else {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Stack size must be a scalar, but had shape: %s",
                   bd_shape_str(&size->shape, text));
    }
}

// The stack in input 0, locked; NULL: the kernel has failed.
static stack *lock_input(bd_op_ctx *c)
{
    bd_resource *r = bd_input_resource(c, 0, &stack_type);
    if (!r) return NULL;
    stack *s = BD_CONTAINER_OF(r, stack, base);
    bd_mutex_lock(&s->mu);
    return s;
}

static void unlock(stack *s)
{
    bd_mutex_unlock(&s->mu);
    bd_resource_unref(&s->base);
}

static stack *lock_open_input(bd_op_ctx *c)
{
    stack *s = lock_input(c);
    if (!s || !s->is_closed) return s;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Stack[%s] has already been closed.", s->name);
    unlock(s);
    return NULL;
}

// ---- Pushing and popping ----

static void push_locked(bd_op_ctx *c, stack *s)
{
    const braid_tensor *elem = bd_input(c, 1);
    if (elem->dtype != s->elem_type) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Must have type %s but got %s", braid_dtype_name(s->elem_type),
                   braid_dtype_name(elem->dtype));
        return;
    }
    if (s->max_size >= 0 && (int64_t)s->items.len >= s->max_size) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Stack[%s] overflowed its max_size (%lld)", s->name,
                   (long long)s->max_size);
        return;
    }
    braid_tensor kept;
    if (!bd_tensor_keep(&kept, elem)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when pushing a tensor");
        return;
    }
    bd_array_push(&s->items, kept);
    bd_output_set(c, 0, elem);
}

static void push_run(bd_op_ctx *c)
{
    stack *s = lock_open_input(c);
    if (!s) return;
    push_locked(c, s);
    unlock(s);
}

static void pop_run(bd_op_ctx *c)
{
    stack *s = lock_open_input(c);
    if (!s) return;
    if (s->items.len == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Stack[%s] is empty when calling Pop().", s->name);
    } else if (c->node->output_types[0] != s->elem_type) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Must have type %s but got %s", braid_dtype_name(s->elem_type),
                   braid_dtype_name(c->node->output_types[0]));
    } else {
        braid_tensor *top = &s->items.items[--s->items.len];
        bd_output_set(c, 0, top);
        bd_tensor_fini(top);
    }
    unlock(s);
}

static void close_run(bd_op_ctx *c)
{
    stack *s = lock_input(c);
    if (!s) return;
    clear_locked(s);
    s->is_closed = true;
    unlock(s);
}

// ---- Shapes ----

static braid_code push_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[1];
    return bd_shape_ctx_handle(c, st);
}

static braid_code pop_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_shape_ctx_handle(c, st);
}

static braid_code stack_v2_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 0, st);
    return code ? code : bd_shape_fn_handle_of_2(c, st);
}

// ---- Definitions ----

BD_OP(Stack) = {
    .signature = "() -> (handle: Ref(string))",
    .attrs = "elem_type:type; stack_name:string=''",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_handle,
    .kernels = BD_KERNELS({.run = stack_run}),
    .doc = "A new stack of tensors, which lasts as long as the step.",
};

BD_OP(StackPush) = {
    .signature = "(handle: Ref(string), elem: T) -> (output: T)",
    .attrs = "T:type; swap_memory:bool=false",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = push_shape,
    .kernels = BD_KERNELS({.run = push_run}),
    .doc = "Puts a tensor on a stack and hands it on.",
};

BD_OP(StackPop) = {
    .signature = "(handle: Ref(string)) -> (elem: elem_type)",
    .attrs = "elem_type:type",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = pop_shape,
    .kernels = BD_KERNELS({.run = pop_run}),
    .doc = "Takes the tensor that was pushed last off a stack.",
};

BD_OP(StackClose) = {
    .signature = "(handle: Ref(string)) -> ()",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_ctx_handle,
    .kernels = BD_KERNELS({.run = close_run}),
    .doc = "Empties a stack; it cannot be used again.",
};

BD_OP(StackV2) = {
    .signature = "(max_size: int32) -> (handle: resource)",
    .attrs = "elem_type:type; stack_name:string=''",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = stack_v2_shape,
    .kernels = BD_KERNELS({.run = stack_v2_run}),
    .doc = "A new stack of at most max_size tensors (negative: any number), which lasts as long as the step.",
};

BD_OP(StackPushV2) = {
    .signature = "(handle: resource, elem: T) -> (output: T)",
    .attrs = "T:type; swap_memory:bool=false",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = push_shape,
    .kernels = BD_KERNELS({.run = push_run}),
    .doc = "Puts a tensor on a stack and hands it on.",
};

BD_OP(StackPopV2) = {
    .signature = "(handle: resource) -> (elem: elem_type)",
    .attrs = "elem_type:type",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = pop_shape,
    .kernels = BD_KERNELS({.run = pop_run}),
    .doc = "Takes the tensor that was pushed last off a stack.",
};

BD_OP(StackCloseV2) = {
    .signature = "(handle: resource) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_ctx_handle,
    .kernels = BD_KERNELS({.run = close_run}),
    .doc = "Empties a stack; it cannot be used again.",
};
