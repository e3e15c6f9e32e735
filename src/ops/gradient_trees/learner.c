// Reading of attr learner_config, and the dropout of trees.
//
// Rashmi and Gilad-Bachrach, "DART: Dropouts meet Multiple Additive Regression Trees", AISTATS 2015.
#include "ops/gradient_trees/learner.h"

#include "ops/common/philox_stream.h"
#include "proto/pack.h"
#include "tensorflow/contrib/boosted_trees/proto/learner.pb-c.h"
#include <string.h>

typedef Tensorflow__BoostedTrees__Learner__LearnerConfig config_message;

static braid_code read_message(bd_gbt_learner *l, const config_message *m, braid_status *st)
{
    l->num_classes = m->num_classes;
    l->pruning = (int)m->pruning_mode;
    l->growing = (int)m->growing_mode;
    l->limits_features = m->constraints && m->constraints->max_number_of_unique_feature_columns != 0;
    const Tensorflow__BoostedTrees__Learner__LearningRateConfig *rate = m->learning_rate_tuner;
    l->has_dropout =
        rate && rate->tuner_case == TENSORFLOW__BOOSTED_TREES__LEARNER__LEARNING_RATE_CONFIG__TUNER_DROPOUT;
    if (l->has_dropout) {
        l->dropout = rate->dropout->dropout_probability;
        l->skip_dropout = rate->dropout->probability_of_skipping_dropout;
    }
    const Tensorflow__BoostedTrees__Learner__AveragingConfig *a = m->averaging_config;
    l->averaging = a ? (int)a->config_case : 0;
    if (l->averaging == BD_GBT_LAST_N_TREES) l->averaged = a->average_last_n_trees;
    if (l->averaging == BD_GBT_LAST_PERCENT) l->averaged = a->average_last_percent_trees;
    l->has_start = m->each_tree_start && m->each_tree_start->n_nodes > 0;
    l->start_layers = m->each_tree_start_num_layers;
    return bd_gbt_tree_read(&l->start, m->each_tree_start, st);
}

braid_code bd_gbt_learner_bind(const braid_op *node, void *state, braid_status *st)
{
    BD_PROTO_ARENA(arena);
    BD_STATUS(why);
    bd_gbt_learner *l = state;
    const bd_bytes bytes = bd_node_attr(node, "learner_config")->s;
    const config_message *m = bd_proto_unpack(&tensorflow__boosted_trees__learner__learner_config__descriptor,
                                              bytes.data, bytes.len, arena, why);
    if (!m) return bd_fail(st, why->code, "Unable to parse learner config: %s", braid_status_message(why));
    if (read_message(l, m, st)) bd_gbt_learner_unbind(state);
    return st->code;
}

void bd_gbt_learner_unbind(void *state)
{
    bd_gbt_learner *l = state;
    bd_gbt_tree_free(&l->start);
}

static bool is_probability(float p)
{
    return p >= 0 && p <= 1;
}

// Uniform in [0, 1), of 52 bits of two words, as TensorFlow makes it.
static double draw(bd_philox_stream *s)
{
    const uint64_t high = bd_philox_stream_next(s), low = bd_philox_stream_next(s);
    const uint64_t bits = UINT64_C(1023) << 52 | (high & 0xfffff) << 32 | low;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value - 1;
}

braid_code bd_gbt_check_dropout(const bd_gbt_learner *l, braid_status *st)
{
    if (!is_probability(l->dropout))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Dropout probability must be in [0,1] range");
    if (!is_probability(l->skip_dropout))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Probability of skipping dropout must be in [0,1] range");
    return BRAID_OK;
}

braid_code bd_gbt_drop_trees(const bd_gbt_learner *l, size_t trees, uint64_t seed, int64_t first,
                             int64_t last, int32_t *dropped, int32_t *count, braid_status *st)
{
    *count = 0;
    if (bd_gbt_check_dropout(l, st)) return st->code;
    if (l->dropout == 0 || l->skip_dropout == 1) return BRAID_OK;
    bd_philox_stream random = bd_philox_stream_init(seed, 0);
    if (l->skip_dropout != 0 && draw(&random) < (double)l->skip_dropout) return BRAID_OK;
    for (size_t i = 0; i < trees; i++) {
        if ((int64_t)i == first || (int64_t)i == last) continue;
        if (draw(&random) < (double)l->dropout) dropped[(*count)++] = (int32_t)i;
    }
    return BRAID_OK;
}
