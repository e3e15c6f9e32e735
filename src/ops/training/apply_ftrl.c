// The updates of FTRL-Proximal.
#include "ops/training/training.h"

static void ftrl(const bd_update *u)
{
    bd_ftrl o = {.lr = u->scalars[0],
                 .l1 = u->scalars[1],
                 .l2 = u->scalars[2],
                 .lr_power = u->scalars[3],
                 .linear_has_lr = u->option};
    u->fns->ftrl(u->vars[0], u->vars[1], u->vars[2], u->grad, u->count, &o);
}
BD_RANGED_OPTIMIZER(ftrl)

static void ftrl_v2(const bd_update *u)
{
    bd_ftrl o = {.lr = u->scalars[0],
                 .l1 = u->scalars[1],
                 .l2 = u->scalars[2],
                 .l2_shrinkage = u->scalars[3],
                 .lr_power = u->scalars[4],
                 .linear_has_lr = u->option};
    u->fns->ftrl(u->vars[0], u->vars[1], u->vars[2], u->grad, u->count, &o);
}
BD_RANGED_OPTIMIZER(ftrl_v2)

#define TIMES_LR "+multiply_linear_by_lr:bool=false; "

BD_OP(ApplyFtrl) = {
    .signature =
        "(var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, lr: T, l1: T, l2: T, lr_power: T) -> (out: Ref(T))",
    BD_UPDATE_OP(ftrl, TIMES_LR),
    .doc = "Takes a step of FTRL-Proximal with L1 and L2 regularization.",
};

BD_OP(ResourceApplyFtrl) = {
    .signature =
        "(var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, l2: T, lr_power: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(ftrl, TIMES_LR),
    .doc = "ApplyFtrl of resource variables.",
};

BD_OP(SparseApplyFtrl) = {
    .signature =
        "(var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, indices: Tindices, lr: T, l1: T, l2: T, lr_power: T) -> (out: Ref(T))",
    BD_UPDATE_OP(ftrl, BD_UPDATE_INDICES TIMES_LR),
    .doc = "ApplyFtrl of the rows that indices name.",
};

BD_OP(ResourceSparseApplyFtrl) = {
    .signature =
        "(var: resource, accum: resource, linear: resource, grad: T, indices: Tindices, lr: T, l1: T, l2: T, lr_power: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(ftrl, BD_UPDATE_INDICES TIMES_LR),
    .doc = "SparseApplyFtrl of resource variables.",
};

BD_OP(ApplyFtrlV2) = {
    .signature =
        "(var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T) -> (out: Ref(T))",
    BD_UPDATE_OP(ftrl_v2, TIMES_LR),
    .doc = "Takes a step of FTRL-Proximal with L1 and L2 regularization and shrinkage of var.",
};

BD_OP(ResourceApplyFtrlV2) = {
    .signature =
        "(var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(ftrl_v2, TIMES_LR),
    .doc = "ApplyFtrlV2 of resource variables.",
};

BD_OP(SparseApplyFtrlV2) = {
    .signature =
        "(var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, indices: Tindices, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T) -> (out: Ref(T))",
    BD_UPDATE_OP(ftrl_v2, BD_UPDATE_INDICES TIMES_LR),
    .doc = "ApplyFtrlV2 of the rows that indices name.",
};

BD_OP(ResourceSparseApplyFtrlV2) = {
    .signature =
        "(var: resource, accum: resource, linear: resource, grad: T, indices: Tindices, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T) -> ()",
    .flags = BD_OP_STATEFUL,
    BD_UPDATE_OP(ftrl_v2, BD_UPDATE_INDICES TIMES_LR),
    .doc = "SparseApplyFtrlV2 of resource variables.",
};
