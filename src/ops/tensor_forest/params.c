// Reading and checking of the parameters of a forest.
#include "ops/tensor_forest/params.h"

#include "proto/pack.h"
#include "tensorflow/contrib/tensor_forest/proto/tensor_forest_params.pb-c.h"
#include <math.h>

typedef Tensorflow__Tensorforest__TensorForestParams params_message;
typedef Tensorflow__Tensorforest__DepthDependentParam depth_message;

enum {
    OUTPUTS_MAX = 1 << 24, // float counts whole numbers up to here
    COLLECTION_BASIC = 0,
    COLLECTION_GRAPH_RUNNER = 1
};

// ---- Numbers that depend on the depth ----

static bd_rf_depth_param read_depth_param(const depth_message *m)
{
    bd_rf_depth_param p = {0};
    if (!m) return p;
    p.kind = (int)m->param_type_case;
    switch (m->param_type_case) {
    case TENSORFLOW__TENSORFOREST__DEPTH_DEPENDENT_PARAM__PARAM_TYPE_CONSTANT_VALUE:
        p.numbers[0] = m->constant_value;
        break;
    case TENSORFLOW__TENSORFOREST__DEPTH_DEPENDENT_PARAM__PARAM_TYPE_LINEAR:
        p.numbers[0] = m->linear->slope;
        p.numbers[1] = m->linear->y_intercept;
        p.numbers[2] = m->linear->min_val;
        p.numbers[3] = m->linear->max_val;
        break;
    case TENSORFLOW__TENSORFOREST__DEPTH_DEPENDENT_PARAM__PARAM_TYPE_EXPONENTIAL:
        p.numbers[0] = m->exponential->bias;
        p.numbers[1] = m->exponential->base_;
        p.numbers[2] = m->exponential->multiplier;
        p.numbers[3] = m->exponential->depth_multiplier;
        break;
    case TENSORFLOW__TENSORFOREST__DEPTH_DEPENDENT_PARAM__PARAM_TYPE_THRESHOLD:
        p.numbers[0] = m->threshold->on_value;
        p.numbers[1] = m->threshold->off_value;
        p.numbers[2] = m->threshold->threshold;
        break;
    default: p.kind = 0; break;
    }
    return p;
}

float bd_rf_resolve(const bd_rf_depth_param *p, int32_t depth)
{
    const float *n = p->numbers, at = (float)depth;
    float value;
    switch (p->kind) {
    case TENSORFLOW__TENSORFOREST__DEPTH_DEPENDENT_PARAM__PARAM_TYPE_CONSTANT_VALUE: return n[0];
    case TENSORFLOW__TENSORFOREST__DEPTH_DEPENDENT_PARAM__PARAM_TYPE_LINEAR:
        value = at * n[0] + n[1];
        if (value < n[2]) value = n[2];
        return n[3] < value ? n[3] : value;
    case TENSORFLOW__TENSORFOREST__DEPTH_DEPENDENT_PARAM__PARAM_TYPE_EXPONENTIAL:
        return n[0] + n[2] * powf(n[1], n[3] * at);
    case TENSORFLOW__TENSORFOREST__DEPTH_DEPENDENT_PARAM__PARAM_TYPE_THRESHOLD:
        return at >= n[2] ? n[0] : n[1];
    default: return 0;
    }
}

int32_t bd_rf_resolve_int(const bd_rf_depth_param *p, int32_t depth)
{
    const float value = bd_rf_resolve(p, depth), limit = 1 << 30;
    if (!(value > -limit)) return isnan(value) ? 0 : -(1 << 30);
    return value < limit ? (int32_t)value : 1 << 30;
}

// ---- The message ----

static void read_message(bd_rf_params *p, const params_message *m)
{
    *p = (bd_rf_params){.leaf_type = (int)m->leaf_type,
                        .stats_type = (int)m->stats_type,
                        .collection_type = (int)m->collection_type,
                        .comparison = (int)m->inequality_test_type,
                        .is_regression = m->is_regression,
                        .collates = m->collate_examples,
                        .saves_stats = m->checkpoint_stats,
                        .has_running_stats = m->use_running_stats_method,
                        .averages_splits = m->initialize_average_splits,
                        .gives_paths = m->inference_tree_paths,
                        .max_nodes = m->max_nodes,
                        .num_outputs = m->num_outputs,
                        .num_features = m->num_features,
                        .classes_to_track = m->num_classes_to_track};
    p->splits_to_consider = read_depth_param(m->num_splits_to_consider);
    p->split_after = read_depth_param(m->split_after_samples);
    p->dominate_fraction = read_depth_param(m->dominate_fraction);
    p->min_split_samples = read_depth_param(m->min_split_samples);
    if (m->pruning_type) {
        p->pruning = (int)m->pruning_type->type;
        p->prune_every = read_depth_param(m->pruning_type->prune_every_samples);
    }
    if (m->finish_type) {
        p->finish = (int)m->finish_type->type;
        p->check_every = read_depth_param(m->finish_type->check_every_steps);
    }
}

braid_code bd_rf_params_read(bd_rf_params *p, const braid_op *node, braid_status *st)
{
    BD_PROTO_ARENA(arena);
    BD_STATUS(why);
    const bd_bytes bytes = bd_node_attr(node, "params")->s;
    const params_message *m = bd_proto_unpack(&tensorflow__tensorforest__tensor_forest_params__descriptor,
                                              bytes.data, bytes.len, arena, why);
    if (!m) return bd_fail(st, why->code, "Unable to parse params: %s", braid_status_message(why));
    read_message(p, m);
    return BRAID_OK;
}

// ---- Checks ----

braid_code bd_rf_params_check_tree(const bd_rf_params *p, braid_status *st)
{
    if (p->leaf_type < BD_RF_LEAF_DENSE || p->leaf_type > BD_RF_LEAF_SPARSE_OR_DENSE)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Unknown model operator: %d", p->leaf_type);
    if (p->num_outputs < 1 || p->num_outputs > OUTPUTS_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "num_outputs must be in [1, %d], got %d", OUTPUTS_MAX,
                       p->num_outputs);
    return BRAID_OK;
}

// Leaves can be made of statistics of their kind.
static bool leaf_fits_stats(const bd_rf_params *p)
{
    const bool is_sparse = p->stats_type == BD_RF_STATS_SPARSE || p->stats_type == BD_RF_STATS_FIXED_SIZE;
    switch (p->leaf_type) {
    case BD_RF_LEAF_DENSE: return p->stats_type == BD_RF_STATS_DENSE;
    case BD_RF_LEAF_SPARSE: return is_sparse;
    case BD_RF_LEAF_REGRESSION: return p->stats_type == BD_RF_STATS_REGRESSION;
    default: return is_sparse || p->stats_type == BD_RF_STATS_DENSE;
    }
}

static braid_code check_types(const bd_rf_params *p, braid_status *st)
{
    if (p->collection_type == COLLECTION_GRAPH_RUNNER)
        return bd_fail(st, BRAID_UNIMPLEMENTED,
                       "GRAPH_RUNNER_COLLECTION, which runs the graph in graph_dir, is not there: use "
                       "COLLECTION_BASIC");
    if (p->collection_type != COLLECTION_BASIC)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Unknown split collection operator: %d",
                       p->collection_type);
    if (p->stats_type != BD_RF_STATS_DENSE && p->stats_type != BD_RF_STATS_SPARSE &&
        p->stats_type != BD_RF_STATS_REGRESSION && p->stats_type != BD_RF_STATS_FIXED_SIZE)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Unknown grow stats type: %d", p->stats_type);
    if (!leaf_fits_stats(p))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Leaves of type %d cannot be made of statistics of type %d", p->leaf_type,
                       p->stats_type);
    if (p->stats_type == BD_RF_STATS_FIXED_SIZE && p->classes_to_track < 1)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "num_classes_to_track must be positive, got %d",
                       p->classes_to_track);
    if (p->comparison < BD_RF_LESS_OR_EQUAL || p->comparison > BD_RF_GREATER)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Unknown split test type: %d", p->comparison);
    return BRAID_OK;
}

static braid_code check_given(const bd_rf_depth_param *p, const char *name, braid_status *st)
{
    return p->kind ? BRAID_OK
                   : bd_fail(st, BRAID_INVALID_ARGUMENT, "unknown parameter type: %s is not given", name);
}

braid_code bd_rf_params_check_stats(const bd_rf_params *p, braid_status *st)
{
    if (bd_rf_params_check_tree(p, st) || check_types(p, st)) return st->code;
    if (check_given(&p->split_after, "split_after_samples", st) ||
        check_given(&p->splits_to_consider, "num_splits_to_consider", st))
        return st->code;
    if (p->stats_type == BD_RF_STATS_REGRESSION) return BRAID_OK;
    if (p->finish != BD_RF_FINISH_BASIC) {
        if (p->finish != BD_RF_FINISH_HOEFFDING && p->finish != BD_RF_FINISH_BOOTSTRAP)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "Unknown finish type: %d", p->finish);
        if (!p->dominate_fraction.kind || !p->min_split_samples.kind)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "dominate_fraction and min_split_samples required for early-finish strategy.");
        if (check_given(&p->check_every, "finish_type.check_every_steps", st)) return st->code;
    }
    if (p->pruning != BD_RF_PRUNE_NONE) {
        if (p->pruning < BD_RF_PRUNE_NONE || p->pruning > BD_RF_PRUNE_HOEFFDING)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "Unknown pruning type: %d", p->pruning);
        if (check_given(&p->prune_every, "pruning_type.prune_every_samples", st)) return st->code;
        if (p->pruning == BD_RF_PRUNE_HOEFFDING &&
            check_given(&p->dominate_fraction, "dominate_fraction", st))
            return st->code;
    }
    return BRAID_OK;
}
