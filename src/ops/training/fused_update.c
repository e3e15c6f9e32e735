// Updates of several small variables by one optimizer as one node. Within it they follow each other, each
// with its own locks.
#include "ops/training/fused_update.h"

#include "base/alloc.h"
#include "base/check.h"

#include <string.h>

#define INPUTS_MAX (BD_UPDATE_VARS_MAX + BD_UPDATE_SCALARS_MAX + 1) // of an update

typedef struct part {
    braid_op node;        // as it was built: for messages
    int from[INPUTS_MAX]; // which inputs of the fused node its inputs are
} part;

typedef struct fused_state {
    const bd_kernel *kernel;
    bd_training_state update; // the same for all
    int count, var_count;
    part *parts;
} fused_state;

const bd_kernel *bd_update_kernel(const bd_op_def *def)
{
    if (def->output_count != 1 || def->input_count < 1 || !def->inputs[0].is_ref ||
        def->op->kernel_count != 1 || def->op->kernels[0].run != bd_training_run)
        return NULL;
    for (int i = 0; i < def->input_count; i++) {
        const bd_arg_def *in = &def->inputs[i];
        if (strcmp(in->name, "indices") == 0 || !in->type_attr) return NULL; // the fused op has one type
    }
    return &def->op->kernels[0];
}

bool bd_update_is_gradient(const bd_arg_def *arg)
{
    return strcmp(arg->name, "grad") == 0 || strcmp(arg->name, "delta") == 0;
}

int bd_update_count_vars(const bd_op_def *def)
{
    int count = 0;
    while (count < def->input_count && def->inputs[count].is_ref)
        count++;
    return count;
}

// ---- Running ----

// Inputs of the fused node: the variables of each update, then the scalars that all share, then the
// gradients.
static void bind_part(const braid_op *node, fused_state *s, int index)
{
    part *p = &s->parts[index];
    const bd_op_def *def = p->node.def;
    int vars = s->count * s->var_count, scalars = def->input_count - s->var_count - 1, scalar = 0;
    p->node.input_count = def->input_count;
    p->node.inputs = bd_calloc((size_t)def->input_count, sizeof *p->node.inputs);
    for (int i = 0; i < def->input_count; i++) {
        p->from[i] = i < s->var_count                         ? index * s->var_count + i
                     : bd_update_is_gradient(&def->inputs[i]) ? vars + scalars + index
                                                              : vars + scalar++;
        p->node.inputs[i] = node->inputs[p->from[i]];
    }
}

static void fused_destroy(void *state)
{
    fused_state *s = state;
    for (int i = 0; i < s->count; i++)
        bd_free(s->parts[i].node.inputs);
    bd_free(s->parts);
}

static braid_code fused_create(const braid_op *node, void *state, braid_status *st)
{
    fused_state *s = state;
    const bd_op_def *def = bd_op_lookup(bd_node_attr_string(node, "op"));
    s->kernel = def ? bd_update_kernel(def) : NULL;
    int64_t count = bd_node_attr_int(node, "M");
    if (!s->kernel || bd_node_attr_int(node, "V") != count * bd_update_count_vars(def) ||
        bd_node_attr_int(node, "N") != count + def->input_count - bd_update_count_vars(def) - 1)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s '%s': inputs are not those of %d updates '%s'",
                       node->op_type, node->name, (int)count, bd_node_attr_string(node, "op"));
    s->count = (int)count;
    s->var_count = bd_update_count_vars(def);
    s->parts = bd_calloc((size_t)count, sizeof *s->parts);
    for (int i = 0; i < s->count; i++) {
        s->parts[i].node = *node;
        s->parts[i].node.def = def;
        bd_node_fused(node, i + 1, &s->parts[i].node.name, &s->parts[i].node.op_type);
        bind_part(node, s, i);
    }
    braid_code code = s->kernel->create(&s->parts[0].node, &s->update, st);
    if (code) fused_destroy(s);
    return code;
}

// As the executor words it for the node of one update.
static bool check_initialized(bd_op_ctx *c, const fused_state *s, int index)
{
    const part *p = &s->parts[index];
    for (int i = 0; i < s->var_count; i++) {
        bd_variable *v = bd_input_ref(c, p->from[i]);
        bd_mutex_lock(&v->mu);
        bool is_set = bd_tensor_is_set(&v->tensor);
        bd_mutex_unlock(&v->mu);
        if (is_set) continue;
        bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                   p->node.inputs[i].op->name);
        return false;
    }
    return true;
}

static void run_part(bd_op_ctx *c, fused_state *s, int index)
{
    const part *p = &s->parts[index];
    bd_value inputs[INPUTS_MAX];
    for (int i = 0; i < p->node.input_count; i++)
        inputs[i] = c->inputs[p->from[i]]; // borrowed
    bd_op_ctx one = {.node = &p->node,
                     .state = &s->update,
                     .inputs = inputs,
                     .outputs = &c->outputs[index],
                     .input_count = p->node.input_count,
                     .output_count = 1,
                     .step = c->step};
    s->kernel->run(&one);
    if (!bd_op_failed(&one)) return;
    bd_op_fail_status(c, &one.status);
    bd_status_fini(&one.status);
}

static void fused_run(bd_op_ctx *c)
{
    fused_state *s = c->state;
    for (int i = 0; i < s->count && !bd_op_failed(c); i++) {
        if (check_initialized(c, s, i)) run_part(c, s, i);
        if (bd_op_failed(c)) bd_op_fail_part(c, i);
    }
}

static braid_code fused_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    int64_t vars = bd_node_attr_int(c->node, "V") / c->output_count;
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = c->inputs[i * vars];
    return BRAID_OK;
}

BD_OP(_FusedUpdate) = {
    .signature = "(vars: Ref(V*T), values: N*T) -> (outs: Ref(M*T))",
    .attrs =
        "V:int>=1; N:int>=1; M:int>=1; T:type{bfloat16,double,float,half}; op:string; use_locking:bool=false",
    .flags = BD_OP_ALLOWS_UNINITIALIZED | BD_OP_NOT_DIFFERENTIABLE,
    .shape = fused_shape,
    .kernels = BD_KERNELS({.types = BD_TRAINING_TYPES,
                           .state_size = sizeof(fused_state),
                           .create = fused_create,
                           .destroy = fused_destroy,
                           .run = fused_run}),
    .fusion = &(const bd_fusion){.rewrite = BRAID_REWRITE_UPDATES, .run = bd_fuse_updates},
    .doc =
        "Updates several variables by the same op: the variables of each, the scalars that they share, the gradients. "
        "Made by rewrites.",
};
