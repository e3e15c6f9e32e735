// Inputs of exported models: tensors as they are, and serialized Examples.
#include "base/alloc.h"
#include "base/check.h"
#include "train/estimator/estimator.h"
#include <braid/ops.h>

static void build_raw(void *arg, braid_graph *g, braid_receiver *receiver)
{
    const braid_raw_features *d = arg;
    for (int i = 0; i < d->count; i++) {
        const braid_raw_feature *f = &d->features[i];
        const braid_out placeholder = braid_placeholder(g, f->name, f->dtype, f->shape);
        braid_receiver_tensor(receiver, f->name, placeholder);
        braid_receiver_feature(receiver, f->name, placeholder);
    }
}

braid_serving_input braid_raw_serving_input(const braid_raw_features *features)
{
    return (braid_serving_input){.build = build_raw, .arg = (void *)features};
}

static void build_parsing(void *arg, braid_graph *g, braid_receiver *receiver)
{
    const braid_parsed_features *d = arg;
    const braid_out examples = braid_placeholder(g, "input_example_tensor", BRAID_STRING, BRAID_SHAPE(-1));
    braid_parsed *parsed = bd_calloc((size_t)bd_max(d->count, 1), sizeof *parsed);
    braid_receiver_tensor(receiver, "examples", examples);
    braid_parse_example(g, NULL, examples, d->features, d->count, parsed);
    for (int i = 0; i < d->count; i++) {
        const braid_sparse value = {parsed[i].indices, parsed[i].values, parsed[i].dense_shape};
        braid_receiver_sparse_feature(receiver, d->features[i].name, value);
    }
    bd_free(parsed);
}

braid_serving_input braid_parsing_serving_input(const braid_parsed_features *features)
{
    return (braid_serving_input){.build = build_parsing, .arg = (void *)features};
}
