// Optimizers' updates: ops that change variables in place from a gradient.
//
// All have one form: reference inputs (the variable and its slots), one gradient, scalars; shapes of the references and the
// gradient are the same. Which input is which follows from the signature, so an op adds its signature, a function that
// names its scalars, and its entry in bd_training_fns.
//
// With use_locking the variables' locks are held (in the order of their addresses); without, updates are Hogwild's: see
// base/hogwild.h.
#include "base/check.h"
#include "graph/shape_fn.h"
#include "ops/elementwise.h"

#include <string.h>

#define REFS_MAX 3
#define SCALARS_MAX 6

// What an update works on; scalars are in the order of the signature.
typedef struct update {
    void *refs[REFS_MAX];
    const void *grad;
    int64_t count;
    double scalars[SCALARS_MAX];
    bool option; // attr use_nesterov, update_slots
    const bd_training_fns *fns;
} update;

typedef void (*update_fn)(const update *u);

typedef struct training_state {
    update_fn fn;
    const bd_training_fns *fns;
    bool use_locking, option;
    int ref_count, grad, scalar_count;
    int scalars[SCALARS_MAX]; // inputs; the references are the first inputs
} training_state;

static bool is_gradient(const char *name)
{
    return strcmp(name, "grad") == 0 || strcmp(name, "delta") == 0;
}

static void bind_update(const braid_op *node, update_fn fn, const char *option, training_state *s)
{
    s->fn = fn;
    s->fns = &bd_kernels()->training[bd_number_of(bd_node_attr_type(node, "T"))];
    s->use_locking = bd_node_attr_bool(node, "use_locking");
    s->option = option && bd_node_attr_bool(node, option);
    for (int i = 0; i < node->def->input_count; i++) {
        const bd_arg_def *arg = &node->def->inputs[i];
        if (arg->is_ref) {
            BD_ASSERT(i == s->ref_count && i < REFS_MAX);
            s->ref_count++;
        } else if (is_gradient(arg->name)) {
            s->grad = i;
        } else {
            BD_ASSERT(s->scalar_count < SCALARS_MAX);
            s->scalars[s->scalar_count++] = i;
        }
    }
}

// ---- Checks ----

static const char *input_name(const bd_op_ctx *c, int i)
{
    return c->node->def->inputs[i].name;
}

static bool read_scalars(bd_op_ctx *c, const training_state *s, update *u)
{
    for (int i = 0; i < s->scalar_count; i++) {
        const braid_tensor *t = bd_input(c, s->scalars[i]);
        if (t->shape.rank != 0) {
            char text[BD_SHAPE_STR_MAX];
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s is not a scalar: %s", input_name(c, s->scalars[i]),
                       bd_shape_str(&t->shape, text));
            return false;
        }
        u->scalars[i] = t->dtype == BRAID_FLOAT ? *bd_tensor_f32(t) : *bd_tensor_f64(t);
    }
    return true;
}

static bool check_shape(bd_op_ctx *c, const braid_shape *var, int i, const braid_shape *other)
{
    if (bd_shape_equal(var, other)) return true;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s and %s do not have the same shape: %s %s", input_name(c, 0),
               input_name(c, i), bd_shape_str(var, a), bd_shape_str(other, b));
    return false;
}

// ---- Running ----

// Takes the content of the references into `held`; each is ended by the caller.
static bool hold_contents(bd_op_ctx *c, const training_state *s, braid_tensor held[REFS_MAX])
{
    for (int i = 0; i < s->ref_count; i++) {
        bd_variable *v = bd_input_ref(c, i);
        bool is_set = s->use_locking ? bd_tensor_is_set(&v->tensor) : bd_variable_read(v, &held[i]);
        if (is_set && s->use_locking) bd_tensor_ref(&held[i], &v->tensor);
        if (is_set) continue;
        bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized variables: %s",
                   c->node->inputs[i].op->name);
        return false;
    }
    return true;
}

static void apply(bd_op_ctx *c, const training_state *s)
{
    update u = {.option = s->option, .fns = s->fns};
    braid_tensor held[REFS_MAX] = {0};
    const braid_tensor *grad = bd_input(c, s->grad);
    bool ok = read_scalars(c, s, &u) && hold_contents(c, s, held);
    for (int i = 1; ok && i < s->ref_count; i++)
        ok = check_shape(c, &held[0].shape, i, &held[i].shape);
    ok = ok && check_shape(c, &held[0].shape, s->grad, &grad->shape);
    if (ok) {
        for (int i = 0; i < s->ref_count; i++)
            u.refs[i] = held[i].data;
        u.grad = grad->data;
        u.count = bd_tensor_count(grad);
        s->fn(&u);
        bd_output_ref(c, 0, bd_input_ref(c, 0));
    }
    for (int i = 0; i < s->ref_count; i++)
        bd_tensor_fini(&held[i]);
}

// The variables in the order of their addresses, each once.
static int lock_order(bd_op_ctx *c, int count, bd_variable *order[REFS_MAX])
{
    int len = 0;
    for (int i = 0; i < count; i++) {
        bd_variable *v = bd_input_ref(c, i);
        int at = 0;
        while (at < len && (uintptr_t)order[at] < (uintptr_t)v)
            at++;
        if (at < len && order[at] == v) continue;
        memmove(order + at + 1, order + at, sizeof *order * (size_t)(len - at));
        order[at] = v;
        len++;
    }
    return len;
}

static void training_run(bd_op_ctx *c)
{
    const training_state *s = c->state;
    bd_variable *order[REFS_MAX];
    int locks = s->use_locking ? lock_order(c, s->ref_count, order) : 0;
    for (int i = 0; i < locks; i++)
        bd_mutex_lock(&order[i]->mu);
    apply(c, s);
    while (locks > 0)
        bd_mutex_unlock(&order[--locks]->mu);
}

static braid_code training_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape shape = c->inputs[0];
    for (int i = 1; i < c->input_count; i++) {
        const bd_arg_def *arg = &c->node->def->inputs[i];
        if (!arg->is_ref && !is_gradient(arg->name)) {
            braid_code code = bd_shape_ctx_rank(c, i, 0, st);
            if (code) return code;
        } else if (!bd_shape_merge(&shape, &c->inputs[i], &shape)) {
            return bd_shape_ctx_fail(c, st, "%s and %s do not have the same shape",
                                     c->node->def->inputs[0].name, arg->name);
        }
    }
    c->outputs[0] = shape;
    return BRAID_OK;
}

// The kernel of an op: FN names its scalars, OPTION is the attr that u->option holds.
#define TRAINING(NAME, FN, OPTION)                                                                           \
    static braid_code create_##NAME(const braid_op *node, void *state, braid_status *st)                     \
    {                                                                                                        \
        (void)st;                                                                                            \
        bind_update(node, FN, OPTION, state);                                                                \
        return BRAID_OK;                                                                                     \
    }
#define TRAINING_KERNEL(NAME)                                                                                \
    BD_KERNELS({.types = BD_FLOATS,                                                                          \
                .state_size = sizeof(training_state),                                                        \
                .create = create_##NAME,                                                                     \
                .run = training_run})

// ---- ApplyGradientDescent ----

static void gradient_descent(const update *u)
{
    u->fns->gradient_descent(u->refs[0], u->grad, u->count, u->scalars[0]);
}
TRAINING(gradient_descent, gradient_descent, NULL)

BD_OP(ApplyGradientDescent) = {
    .signature = "(var: Ref(T), alpha: T, delta: T) -> (out: Ref(T))",
    .attrs = "T:type{number}; use_locking:bool=false",
    .shape = training_shape,
    .kernels = TRAINING_KERNEL(gradient_descent),
    .doc = "Subtracts alpha * delta from var.",
};

// ---- ApplyMomentum ----

static void momentum(const update *u)
{
    u->fns->momentum(u->refs[0], u->refs[1], u->grad, u->count, u->scalars[0], u->scalars[1], u->option);
}
TRAINING(momentum, momentum, "use_nesterov")

BD_OP(ApplyMomentum) = {
    .signature = "(var: Ref(T), accum: Ref(T), lr: T, grad: T, momentum: T) -> (out: Ref(T))",
    .attrs = "T:type{number}; use_locking:bool=false; use_nesterov:bool=false",
    .shape = training_shape,
    .kernels = TRAINING_KERNEL(momentum),
    .doc = "Takes a step with momentum: accum = momentum * accum + grad; var -= lr * accum.",
};

// ---- ApplyAdagrad ----

static void adagrad(const update *u)
{
    u->fns->adagrad(u->refs[0], u->refs[1], u->grad, u->count, u->scalars[0], u->option);
}
TRAINING(adagrad, adagrad, "update_slots")

BD_OP(ApplyAdagrad) = {
    .signature = "(var: Ref(T), accum: Ref(T), lr: T, grad: T) -> (out: Ref(T))",
    .attrs = "T:type{number}; use_locking:bool=false; update_slots:bool=true",
    .shape = training_shape,
    .kernels = TRAINING_KERNEL(adagrad),
    .doc = "Takes a step of Adagrad: accum += grad^2; var -= lr * grad / sqrt(accum).",
};

// ---- ApplyAdam ----

static void adam(const update *u)
{
    bd_adam o = {.beta1_power = u->scalars[0],
                 .beta2_power = u->scalars[1],
                 .lr = u->scalars[2],
                 .beta1 = u->scalars[3],
                 .beta2 = u->scalars[4],
                 .epsilon = u->scalars[5],
                 .nesterov = u->option};
    u->fns->adam(u->refs[0], u->refs[1], u->refs[2], u->grad, u->count, &o);
}
TRAINING(adam, adam, "use_nesterov")

BD_OP(ApplyAdam) = {
    .signature =
        "(var: Ref(T), m: Ref(T), v: Ref(T), beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, "
        "epsilon: T, grad: T) -> (out: Ref(T))",
    .attrs = "T:type{number}; use_locking:bool=false; use_nesterov:bool=false",
    .shape = training_shape,
    .kernels = TRAINING_KERNEL(adam),
    .doc = "Takes a step of Adam, the step size corrected by the powers of beta1 and beta2.",
};

// ---- ApplyRMSProp ----

static void rmsprop(const update *u)
{
    bd_rmsprop o = {
        .lr = u->scalars[0], .rho = u->scalars[1], .momentum = u->scalars[2], .epsilon = u->scalars[3]};
    u->fns->rmsprop(u->refs[0], u->refs[1], u->refs[2], u->grad, u->count, &o);
}
TRAINING(rmsprop, rmsprop, NULL)

BD_OP(ApplyRMSProp) = {
    .signature =
        "(var: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, grad: T) -> (out: "
        "Ref(T))",
    .attrs = "T:type{number}; use_locking:bool=false",
    .shape = training_shape,
    .kernels = TRAINING_KERNEL(rmsprop),
    .doc = "Takes a step of RMSProp: ms is the decaying mean of grad^2, mom the momentum.",
};

// ---- ApplyFtrl ----

static void ftrl(const update *u)
{
    bd_ftrl o = {.lr = u->scalars[0], .l1 = u->scalars[1], .l2 = u->scalars[2], .lr_power = u->scalars[3]};
    u->fns->ftrl(u->refs[0], u->refs[1], u->refs[2], u->grad, u->count, &o);
}
TRAINING(ftrl, ftrl, NULL)

BD_OP(ApplyFtrl) = {
    .signature =
        "(var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, lr: T, l1: T, l2: T, lr_power: T) -> (out: "
        "Ref(T))",
    .attrs = "T:type{number}; use_locking:bool=false",
    .shape = training_shape,
    .kernels = TRAINING_KERNEL(ftrl),
    .doc = "Takes a step of FTRL-Proximal with L1 and L2 regularization.",
};
