// The updates of Adam and RMSProp, whose slots are decaying means.
#include "ops/training/training.h"

// ---- Adam ----

static void adam(const bd_update *u)
{
    bd_adam o = {.beta1_power = u->scalars[0],
                 .beta2_power = u->scalars[1],
                 .lr = u->scalars[2],
                 .beta1 = u->scalars[3],
                 .beta2 = u->scalars[4],
                 .epsilon = u->scalars[5],
                 .nesterov = u->option};
    u->fns->adam(u->vars[0], u->vars[1], u->vars[2], u->grad, u->count, &o);
}
BD_OPTIMIZER(adam)

BD_OP(ApplyAdam) = {
    .signature =
        "(var: Ref(T), m: Ref(T), v: Ref(T), beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T) -> (out: Ref(T))",
    BD_UPDATE_OP(adam, "use_nesterov:bool=false; "),
    .doc = "Takes a step of Adam, the step size corrected by the powers of beta1 and beta2.",
};

BD_OP(ResourceApplyAdam) = {
    .signature =
        "(var: resource, m: resource, v: resource, beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(adam, "use_nesterov:bool=false; "),
    .doc = "ApplyAdam of resource variables.",
};

// ---- Adam with Amsgrad ----

static void amsgrad(const bd_update *u)
{
    const bd_adam o = {.beta1_power = u->scalars[0],
                       .beta2_power = u->scalars[1],
                       .lr = u->scalars[2],
                       .beta1 = u->scalars[3],
                       .beta2 = u->scalars[4],
                       .epsilon = u->scalars[5]};
    u->fns->amsgrad(u->vars[0], u->vars[1], u->vars[2], u->vars[3], u->grad, u->count, &o);
}
BD_OPTIMIZER(amsgrad)

BD_OP(ResourceApplyAdamWithAmsgrad) = {
    .signature =
        "(var: resource, m: resource, v: resource, vhat: resource, beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(amsgrad, ""),
    .doc = "Takes a step of Adam with the greatest v so far, vhat, in the place of v.",
};

// ---- AdaMax ----

static void adamax(const bd_update *u)
{
    const bd_adam o = {.beta1_power = u->scalars[0],
                       .lr = u->scalars[1],
                       .beta1 = u->scalars[2],
                       .beta2 = u->scalars[3],
                       .epsilon = u->scalars[4]};
    u->fns->adamax(u->vars[0], u->vars[1], u->vars[2], u->grad, u->count, &o);
}
BD_OPTIMIZER(adamax)

BD_OP(ApplyAdaMax) = {
    .signature =
        "(var: Ref(T), m: Ref(T), v: Ref(T), beta1_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T) -> (out: Ref(T))",
    BD_UPDATE_OP(adamax, ""),
    .doc =
        "Takes a step of AdaMax: v is the decaying maximum of |grad|; var -= lr / (1 - beta1_power) * m / (v + epsilon).",
};

BD_OP(ResourceApplyAdaMax) = {
    .signature =
        "(var: resource, m: resource, v: resource, beta1_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(adamax, ""),
    .doc = "ApplyAdaMax of resource variables.",
};

// ---- RMSProp, CenteredRMSProp ----

static bd_rmsprop rmsprop_options(const bd_update *u)
{
    return (bd_rmsprop){
        .lr = u->scalars[0], .rho = u->scalars[1], .momentum = u->scalars[2], .epsilon = u->scalars[3]};
}

static void rmsprop(const bd_update *u)
{
    bd_rmsprop o = rmsprop_options(u);
    u->fns->rmsprop(u->vars[0], u->vars[1], u->vars[2], u->grad, u->count, &o);
}
BD_OPTIMIZER(rmsprop)

static void centered_rmsprop(const bd_update *u)
{
    bd_rmsprop o = rmsprop_options(u);
    u->fns->centered_rmsprop(u->vars[0], u->vars[1], u->vars[2], u->vars[3], u->grad, u->count, &o);
}
BD_OPTIMIZER(centered_rmsprop)

BD_OP(ApplyRMSProp) = {
    .signature =
        "(var: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, grad: T) -> (out: Ref(T))",
    BD_UPDATE_OP(rmsprop, ""),
    .doc = "Takes a step of RMSProp: ms is the decaying mean of grad^2, mom the momentum.",
};

BD_OP(ResourceApplyRMSProp) = {
    .signature =
        "(var: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, grad: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(rmsprop, ""),
    .doc = "ApplyRMSProp of resource variables.",
};

BD_OP(SparseApplyRMSProp) = {
    .signature =
        "(var: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, grad: T, indices: Tindices) -> (out: Ref(T))",
    BD_UPDATE_OP(rmsprop, BD_UPDATE_INDICES ""),
    .doc = "ApplyRMSProp of the rows that indices name.",
};

BD_OP(ResourceSparseApplyRMSProp) = {
    .signature =
        "(var: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, grad: T, indices: Tindices) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(rmsprop, BD_UPDATE_INDICES ""),
    .doc = "SparseApplyRMSProp of resource variables.",
};

BD_OP(ApplyCenteredRMSProp) = {
    .signature =
        "(var: Ref(T), mg: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, grad: T) -> (out: Ref(T))",
    BD_UPDATE_OP(centered_rmsprop, ""),
    .doc = "Takes a step of RMSProp by the variance: mg and ms are the decaying means of grad and grad^2.",
};

BD_OP(ResourceApplyCenteredRMSProp) = {
    .signature =
        "(var: resource, mg: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, grad: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(centered_rmsprop, ""),
    .doc = "ApplyCenteredRMSProp of resource variables.",
};

BD_OP(SparseApplyCenteredRMSProp) = {
    .signature =
        "(var: Ref(T), mg: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, grad: T, indices: Tindices) -> (out: Ref(T))",
    BD_UPDATE_OP(centered_rmsprop, BD_UPDATE_INDICES ""),
    .doc = "ApplyCenteredRMSProp of the rows that indices name.",
};

BD_OP(ResourceSparseApplyCenteredRMSProp) = {
    .signature =
        "(var: resource, mg: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, grad: T, indices: Tindices) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(centered_rmsprop, BD_UPDATE_INDICES ""),
    .doc = "SparseApplyCenteredRMSProp of resource variables.",
};
