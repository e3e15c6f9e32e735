// The updates of plain gradient descent, momentum and proximal gradient descent.
#include "ops/training/training.h"

#include <math.h>

// ---- GradientDescent ----

static void gradient_descent(const bd_update *u)
{
    u->fns->gradient_descent(u->vars[0], u->grad, u->count, u->scalars[0]);
}
BD_OPTIMIZER(gradient_descent)

BD_OP(ApplyGradientDescent) = {
    .signature = "(var: Ref(T), alpha: T, delta: T) -> (out: Ref(T))",
    BD_UPDATE_OP(gradient_descent, ""),
    .doc = "Subtracts alpha * delta from var.",
};

BD_OP(ResourceApplyGradientDescent) = {
    .signature = "(var: resource, alpha: T, delta: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(gradient_descent, ""),
    .doc = "ApplyGradientDescent of resource variables.",
};

// ---- Momentum ----

static void momentum(const bd_update *u)
{
    u->fns->momentum(u->vars[0], u->vars[1], u->grad, u->count, u->scalars[0], u->scalars[1], u->option);
}
BD_OPTIMIZER(momentum)

BD_OP(ApplyMomentum) = {
    .signature = "(var: Ref(T), accum: Ref(T), lr: T, grad: T, momentum: T) -> (out: Ref(T))",
    BD_UPDATE_OP(momentum, "use_nesterov:bool=false; "),
    .doc = "Takes a step with momentum: accum = momentum * accum + grad; var -= lr * accum.",
};

BD_OP(ResourceApplyMomentum) = {
    .signature = "(var: resource, accum: resource, lr: T, grad: T, momentum: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(momentum, "use_nesterov:bool=false; "),
    .doc = "ApplyMomentum of resource variables.",
};

BD_OP(SparseApplyMomentum) = {
    .signature =
        "(var: Ref(T), accum: Ref(T), lr: T, grad: T, indices: Tindices, momentum: T) -> (out: Ref(T))",
    BD_UPDATE_OP(momentum, BD_UPDATE_INDICES "use_nesterov:bool=false; "),
    .doc = "ApplyMomentum of the rows that indices name.",
};

BD_OP(ResourceSparseApplyMomentum) = {
    .signature = "(var: resource, accum: resource, lr: T, grad: T, indices: Tindices, momentum: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(momentum, BD_UPDATE_INDICES "use_nesterov:bool=false; "),
    .doc = "SparseApplyMomentum of resource variables.",
};

// ---- Keras' momentum ----

static void keras_momentum(const bd_update *u)
{
    u->fns->keras_momentum(u->vars[0], u->vars[1], u->grad, u->count, u->scalars[0], u->scalars[1],
                           u->option);
}
BD_OPTIMIZER(keras_momentum)

BD_OP(ResourceApplyKerasMomentum) = {
    .signature = "(var: resource, accum: resource, lr: T, grad: T, momentum: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(keras_momentum, "use_nesterov:bool=false; "),
    .doc =
        "Takes a step with momentum as Keras defines it: accum = momentum * accum - lr * grad; var += accum.",
};

BD_OP(ResourceSparseApplyKerasMomentum) = {
    .signature = "(var: resource, accum: resource, lr: T, grad: T, indices: Tindices, momentum: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(keras_momentum, BD_UPDATE_INDICES "use_nesterov:bool=false; "),
    .doc = "ResourceApplyKerasMomentum of the rows that indices name.",
};

// ---- AddSign, PowerSign ----

static void sign_step(const bd_update *u, double same, double opposite, double neither)
{
    const bd_sign_step o = {
        .lr = u->scalars[0], .beta = u->scalars[3], .same = same, .opposite = opposite, .neither = neither};
    u->fns->sign_step(u->vars[0], u->vars[1], u->grad, u->count, &o);
}

static void add_sign(const bd_update *u)
{
    const double alpha = u->scalars[1], decay = u->scalars[2];
    sign_step(u, alpha + decay, alpha - decay, alpha);
}
BD_OPTIMIZER(add_sign)

static void power_sign(const bd_update *u)
{
    const double power = u->scalars[1] * u->scalars[2];
    sign_step(u, exp(power), exp(-power), 1);
}
BD_OPTIMIZER(power_sign)

BD_OP(ApplyAddSign) = {
    .signature =
        "(var: Ref(T), m: Ref(T), lr: T, alpha: T, sign_decay: T, beta: T, grad: T) -> (out: Ref(T))",
    BD_UPDATE_OP(add_sign, ""),
    .doc = "Takes a step of AddSign: var -= lr * (alpha + sign_decay * sign(grad) * sign(m)) * grad.",
};

BD_OP(ResourceApplyAddSign) = {
    .signature = "(var: resource, m: resource, lr: T, alpha: T, sign_decay: T, beta: T, grad: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(add_sign, ""),
    .doc = "ApplyAddSign of resource variables.",
};

BD_OP(ApplyPowerSign) = {
    .signature =
        "(var: Ref(T), m: Ref(T), lr: T, logbase: T, sign_decay: T, beta: T, grad: T) -> (out: Ref(T))",
    BD_UPDATE_OP(power_sign, ""),
    .doc = "Takes a step of PowerSign: var -= lr * exp(logbase * sign_decay * sign(grad) * sign(m)) * grad.",
};

BD_OP(ResourceApplyPowerSign) = {
    .signature = "(var: resource, m: resource, lr: T, logbase: T, sign_decay: T, beta: T, grad: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(power_sign, ""),
    .doc = "ApplyPowerSign of resource variables.",
};

// ---- ProximalGradientDescent ----

static void proximal_gradient_descent(const bd_update *u)
{
    bd_proximal o = {.lr = u->scalars[0], .l1 = u->scalars[1], .l2 = u->scalars[2]};
    u->fns->proximal(u->vars[0], NULL, u->grad, u->count, &o);
}
BD_OPTIMIZER(proximal_gradient_descent)

BD_OP(ApplyProximalGradientDescent) = {
    .signature = "(var: Ref(T), alpha: T, l1: T, l2: T, delta: T) -> (out: Ref(T))",
    BD_UPDATE_OP(proximal_gradient_descent, ""),
    .doc = "Takes a step of gradient descent and then one toward 0 by L1 and L2.",
};

BD_OP(ResourceApplyProximalGradientDescent) = {
    .signature = "(var: resource, alpha: T, l1: T, l2: T, delta: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(proximal_gradient_descent, ""),
    .doc = "ApplyProximalGradientDescent of resource variables.",
};

BD_OP(SparseApplyProximalGradientDescent) = {
    .signature = "(var: Ref(T), alpha: T, l1: T, l2: T, grad: T, indices: Tindices) -> (out: Ref(T))",
    BD_UPDATE_OP(proximal_gradient_descent, BD_UPDATE_INDICES ""),
    .doc = "ApplyProximalGradientDescent of the rows that indices name.",
};

BD_OP(ResourceSparseApplyProximalGradientDescent) = {
    .signature = "(var: resource, alpha: T, l1: T, l2: T, grad: T, indices: Tindices) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(proximal_gradient_descent, BD_UPDATE_INDICES ""),
    .doc = "SparseApplyProximalGradientDescent of resource variables.",
};
