// Candidate samplers: the nodes that draw classes for a loss.
#include <braid/candidate_sampling.h>

static const braid_candidates no_candidates;

// The number of true classes of an example; 0 when the graph has failed.
static int64_t num_true(braid_graph *g, const char *op_type, const braid_sampler_options *o)
{
    if (!o || !o->true_classes.op) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: the true classes are nothing", op_type);
        return 0;
    }
    const braid_shape shape = braid_out_shape(o->true_classes);
    if (shape.rank != 2 || shape.dims[1] < 1) {
        braid_graph_fail(
            g, BRAID_INVALID_ARGUMENT,
            "%s: the true classes '%s' must be a matrix [batch, num_true] with a known number of "
            "columns",
            op_type, braid_op_name(o->true_classes.op));
        return 0;
    }
    if (o->num_sampled < 1 || o->range_max < 1) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "%s: num_sampled and range_max must be positive: they are %lld and %lld", op_type,
                         (long long)o->num_sampled, (long long)o->range_max);
        return 0;
    }
    return shape.dims[1];
}

static braid_op_desc *begin(braid_graph *g, const char *op_type, const braid_sampler_options *o)
{
    const int64_t count = num_true(g, op_type, o);
    if (!count || braid_graph_status(g, NULL)) return NULL;
    braid_op_desc *d = braid_op_begin(g, op_type, o->name);
    braid_op_input(d, o->true_classes);
    braid_op_attr_int(d, "num_true", count);
    braid_op_attr_int(d, "num_sampled", o->num_sampled);
    braid_op_attr_bool(d, "unique", !o->with_replacement);
    braid_op_attr_int(d, "range_max", o->range_max);
    if (o->has_seed) braid_op_attr_int(d, "seed2", o->seed);
    return d;
}

static braid_candidates end(braid_op_desc *d)
{
    braid_op *node = d ? braid_op_end(d) : NULL;
    if (!node) return no_candidates;
    return (braid_candidates){braid_output(node, 0), braid_output(node, 1), braid_output(node, 2)};
}

braid_candidates braid_log_uniform_candidate_sampler(braid_graph *g, const braid_sampler_options *options)
{
    return end(begin(g, "LogUniformCandidateSampler", options));
}

braid_candidates braid_uniform_candidate_sampler(braid_graph *g, const braid_sampler_options *options)
{
    return end(begin(g, "UniformCandidateSampler", options));
}

braid_candidates braid_learned_unigram_candidate_sampler(braid_graph *g, const braid_sampler_options *options)
{
    return end(begin(g, "LearnedUnigramCandidateSampler", options));
}

braid_candidates braid_fixed_unigram_candidate_sampler(braid_graph *g, const braid_sampler_options *options,
                                                       const braid_unigrams *w)
{
    if (!w || w->unigram_count < 0 || (w->unigram_count > 0) == (w->vocab_file != NULL) ||
        (w->unigram_count > 0 && !w->unigrams)) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "FixedUnigramCandidateSampler: needs either unigrams or a vocab_file");
        return no_candidates;
    }
    braid_op_desc *d = begin(g, "FixedUnigramCandidateSampler", options);
    if (!d) return no_candidates;
    if (w->vocab_file) braid_op_attr_string(d, "vocab_file", w->vocab_file);
    if (w->unigram_count) braid_op_attr_float_list(d, "unigrams", w->unigrams, w->unigram_count);
    braid_op_attr_float(d, "distortion", w->distortion);
    braid_op_attr_int(d, "num_reserved_ids", w->num_reserved_ids);
    braid_op_attr_int(d, "num_shards", w->num_shards ? w->num_shards : 1);
    braid_op_attr_int(d, "shard", w->shard);
    return end(d);
}
