// The updates of Adagrad and its variants, whose slots are sums of squared gradients.
#include "ops/training/training.h"

// ---- Adagrad ----

static void adagrad(const bd_update *u)
{
    u->fns->adagrad(u->vars[0], u->vars[1], u->grad, u->count, u->scalars[0], 0, u->option);
}
BD_OPTIMIZER(adagrad)

BD_OP(ApplyAdagrad) = {
    .signature = "(var: Ref(T), accum: Ref(T), lr: T, grad: T) -> (out: Ref(T))",
    BD_UPDATE_OP(adagrad, "update_slots:bool=true; "),
    .doc = "Takes a step of Adagrad: accum += grad^2; var -= lr * grad / sqrt(accum).",
};

BD_OP(ResourceApplyAdagrad) = {
    .signature = "(var: resource, accum: resource, lr: T, grad: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(adagrad, "update_slots:bool=true; "),
    .doc = "ApplyAdagrad of resource variables.",
};

BD_OP(SparseApplyAdagrad) = {
    .signature = "(var: Ref(T), accum: Ref(T), lr: T, grad: T, indices: Tindices) -> (out: Ref(T))",
    BD_UPDATE_OP(adagrad, BD_UPDATE_INDICES "update_slots:bool=true; "),
    .doc = "ApplyAdagrad of the rows that indices name.",
};

BD_OP(ResourceSparseApplyAdagrad) = {
    .signature = "(var: resource, accum: resource, lr: T, grad: T, indices: Tindices) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(adagrad, BD_UPDATE_INDICES "update_slots:bool=true; "),
    .doc = "SparseApplyAdagrad of resource variables.",
};

// ---- AdagradV2: with epsilon ----

static void adagrad_v2(const bd_update *u)
{
    u->fns->adagrad(u->vars[0], u->vars[1], u->grad, u->count, u->scalars[0], u->scalars[1], u->option);
}
BD_OPTIMIZER(adagrad_v2)

BD_OP(ApplyAdagradV2) = {
    .signature = "(var: Ref(T), accum: Ref(T), lr: T, epsilon: T, grad: T) -> (out: Ref(T))",
    BD_UPDATE_OP(adagrad_v2, "update_slots:bool=true; "),
    .doc = "Takes a step of Adagrad: accum += grad^2; var -= lr * grad / (sqrt(accum) + epsilon).",
};

BD_OP(ResourceApplyAdagradV2) = {
    .signature = "(var: resource, accum: resource, lr: T, epsilon: T, grad: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(adagrad_v2, "update_slots:bool=true; "),
    .doc = "ApplyAdagradV2 of resource variables.",
};

BD_OP(SparseApplyAdagradV2) = {
    .signature =
        "(var: Ref(T), accum: Ref(T), lr: T, epsilon: T, grad: T, indices: Tindices) -> (out: Ref(T))",
    BD_UPDATE_OP(adagrad_v2, BD_UPDATE_INDICES "update_slots:bool=true; "),
    .doc = "ApplyAdagradV2 of the rows that indices name.",
};

BD_OP(ResourceSparseApplyAdagradV2) = {
    .signature = "(var: resource, accum: resource, lr: T, epsilon: T, grad: T, indices: Tindices) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(adagrad_v2, BD_UPDATE_INDICES "update_slots:bool=true; "),
    .doc = "SparseApplyAdagradV2 of resource variables.",
};

// ---- ProximalAdagrad ----

static void proximal_adagrad(const bd_update *u)
{
    bd_proximal o = {.lr = u->scalars[0], .l1 = u->scalars[1], .l2 = u->scalars[2]};
    u->fns->proximal(u->vars[0], u->vars[1], u->grad, u->count, &o);
}
BD_RANGED_OPTIMIZER(proximal_adagrad)

BD_OP(ApplyProximalAdagrad) = {
    .signature = "(var: Ref(T), accum: Ref(T), lr: T, l1: T, l2: T, grad: T) -> (out: Ref(T))",
    BD_UPDATE_OP(proximal_adagrad, ""),
    .doc = "Takes a step of Adagrad and then one toward 0 by L1 and L2.",
};

BD_OP(ResourceApplyProximalAdagrad) = {
    .signature = "(var: resource, accum: resource, lr: T, l1: T, l2: T, grad: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(proximal_adagrad, ""),
    .doc = "ApplyProximalAdagrad of resource variables.",
};

BD_OP(SparseApplyProximalAdagrad) = {
    .signature =
        "(var: Ref(T), accum: Ref(T), lr: T, l1: T, l2: T, grad: T, indices: Tindices) -> (out: Ref(T))",
    BD_UPDATE_OP(proximal_adagrad, BD_UPDATE_INDICES ""),
    .doc = "ApplyProximalAdagrad of the rows that indices name.",
};

BD_OP(ResourceSparseApplyProximalAdagrad) = {
    .signature = "(var: resource, accum: resource, lr: T, l1: T, l2: T, grad: T, indices: Tindices) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(proximal_adagrad, BD_UPDATE_INDICES ""),
    .doc = "SparseApplyProximalAdagrad of resource variables.",
};

// ---- AdagradDA ----

static void adagrad_da(const bd_update *u)
{
    bd_adagrad_da o = {
        .lr = u->scalars[0], .l1 = u->scalars[1], .l2 = u->scalars[2], .global_step = u->scalars[3]};
    u->fns->adagrad_da(u->vars[0], u->vars[1], u->vars[2], u->grad, u->count, &o);
}
BD_OPTIMIZER(adagrad_da)

BD_OP(ApplyAdagradDA) = {
    .signature =
        "(var: Ref(T), gradient_accumulator: Ref(T), gradient_squared_accumulator: Ref(T), grad: T, lr: T, l1: T, l2: T, global_step: int64) -> (out: Ref(T))",
    BD_UPDATE_OP(adagrad_da, ""),
    .doc =
        "Takes a step of Adagrad with dual averaging: var follows from the sums of gradients and of their squares.",
};

BD_OP(ResourceApplyAdagradDA) = {
    .signature =
        "(var: resource, gradient_accumulator: resource, gradient_squared_accumulator: resource, grad: T, lr: T, l1: T, l2: T, global_step: int64) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(adagrad_da, ""),
    .doc = "ApplyAdagradDA of resource variables.",
};

BD_OP(SparseApplyAdagradDA) = {
    .signature =
        "(var: Ref(T), gradient_accumulator: Ref(T), gradient_squared_accumulator: Ref(T), grad: T, indices: Tindices, lr: T, l1: T, l2: T, global_step: int64) -> (out: Ref(T))",
    BD_UPDATE_OP(adagrad_da, BD_UPDATE_INDICES ""),
    .doc = "ApplyAdagradDA of the rows that indices name.",
};

BD_OP(ResourceSparseApplyAdagradDA) = {
    .signature =
        "(var: resource, gradient_accumulator: resource, gradient_squared_accumulator: resource, grad: T, indices: Tindices, lr: T, l1: T, l2: T, global_step: int64) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(adagrad_da, BD_UPDATE_INDICES ""),
    .doc = "SparseApplyAdagradDA of resource variables.",
};

// ---- Adadelta ----

static void adadelta(const bd_update *u)
{
    bd_adadelta o = {.lr = u->scalars[0], .rho = u->scalars[1], .epsilon = u->scalars[2]};
    u->fns->adadelta(u->vars[0], u->vars[1], u->vars[2], u->grad, u->count, &o);
}
BD_OPTIMIZER(adadelta)

BD_OP(ApplyAdadelta) = {
    .signature =
        "(var: Ref(T), accum: Ref(T), accum_update: Ref(T), lr: T, rho: T, epsilon: T, grad: T) -> (out: Ref(T))",
    BD_UPDATE_OP(adadelta, ""),
    .doc =
        "Takes a step of Adadelta: accum and accum_update are the decaying means of grad^2 and of the squared steps.",
};

BD_OP(ResourceApplyAdadelta) = {
    .signature =
        "(var: resource, accum: resource, accum_update: resource, lr: T, rho: T, epsilon: T, grad: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(adadelta, ""),
    .doc = "ApplyAdadelta of resource variables.",
};

BD_OP(SparseApplyAdadelta) = {
    .signature =
        "(var: Ref(T), accum: Ref(T), accum_update: Ref(T), lr: T, rho: T, epsilon: T, grad: T, indices: Tindices) -> (out: Ref(T))",
    BD_UPDATE_OP(adadelta, BD_UPDATE_INDICES ""),
    .doc = "ApplyAdadelta of the rows that indices name.",
};

BD_OP(ResourceSparseApplyAdadelta) = {
    .signature =
        "(var: resource, accum: resource, accum_update: resource, lr: T, rho: T, epsilon: T, grad: T, indices: Tindices) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(adadelta, BD_UPDATE_INDICES ""),
    .doc = "SparseApplyAdadelta of resource variables.",
};
