// Samplers of candidate classes: the kernel shared by all distributions.
#ifndef BD_OPS_RANDOM_CANDIDATE_SAMPLER_H
#define BD_OPS_RANDOM_CANDIDATE_SAMPLER_H

#include "ops/random/random_source.h"

typedef struct bd_sampler bd_sampler;

// A distribution over [0, range).
typedef struct bd_sampler_kind {
    // Sets range, different and data. NULL: range is attr range_max, and there is no data.
    braid_code (*create)(const braid_op *node, bd_sampler *s, braid_status *st);
    // Sets them before the first draw from files, in which case `create` does not; once, unless it fails.
    // NULL: there are no files.
    braid_code (*load)(const braid_op *node, const bd_fs *fs, bd_sampler *s, braid_status *st);
    void (*destroy)(bd_sampler *s); // frees the data; NULL: there is no data
    int64_t (*sample)(const bd_sampler *s, bd_random_words *w);
    float (*probability)(const bd_sampler *s, int64_t value);
    // Learns from the true classes that are in range. NULL: the distribution is fixed.
    void (*update)(bd_sampler *s, const int64_t *values, int64_t count);
    bool needs_range; // a true class out of range is an error
} bd_sampler_kind;

// The state of a sampler's kernel.
struct bd_sampler {
    bd_random_source source; // must be the first member
    const bd_sampler_kind *kind;
    int64_t num_true, num_sampled, range;
    int64_t different; // number of values with a probability above 0
    bool is_unique;
    bd_mutex mu; // guards `data` if the distribution learns or is loaded
    void *data;
};

// Initializes *s; called by the `create` of a kernel. bd_sampler_destroy and bd_sampler_run are the kernel's
// `destroy` and `run`.
braid_code bd_sampler_init(bd_sampler *s, const bd_sampler_kind *kind, const braid_op *node,
                           braid_status *st);
void bd_sampler_destroy(void *state);
void bd_sampler_run(bd_op_ctx *c);
braid_code bd_sampler_shape(bd_shape_ctx *c, braid_status *st);

#define BD_SAMPLER_SIGNATURE                                                                                 \
    "(true_classes: int64) -> (sampled_candidates: int64, true_expected_count: float, "                      \
    "sampled_expected_count: float)"
#define BD_SAMPLER_ATTRS "num_true:int>=1; num_sampled:int>=1; unique:bool; "
#define BD_SAMPLER_SEEDS "seed:int=0; seed2:int=0"
#define BD_SAMPLER_KERNELS(CREATE)                                                                           \
    BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,                                                                \
                .state_size = sizeof(bd_sampler),                                                            \
                .create = (CREATE),                                                                          \
                .destroy = bd_sampler_destroy,                                                               \
                .run = bd_sampler_run})

#endif
