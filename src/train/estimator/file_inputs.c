// Input from files: lines of CSV files, and Examples in TFRecord files.
#include "base/alloc.h"
#include "train/estimator/estimator.h"
#include <braid/dataset.h>
#include <braid/estimator_inputs.h>
#include <braid/ops.h>
#include <string.h>

#define BATCH_DEFAULT 128
#define SHUFFLE_BUFFER_DEFAULT 10000

// What both kinds of files have in common.
typedef struct batching {
    int64_t batch_size, num_epochs, shuffle_buffer, seed;
    bool shuffle;
} batching;

static braid_out file_names(braid_graph *g, const char *const *files, int count)
{
    if (count < 1) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "An input of files names no file");
        return BRAID_NONE;
    }
    braid_tensor *names = braid_tensor_new(BRAID_STRING, BRAID_SHAPE(count), NULL);
    for (int i = 0; i < count; i++)
        braid_tensor_set_string(names, i, files[i], strlen(files[i]));
    const braid_out out = braid_const(g, "filenames", names);
    braid_tensor_free(names);
    return out;
}

// The server of this task, whose nodes read the files, has to be allowed to.
static void allow_files(braid_graph *g, const braid_inputs *inputs, const char *const *files, int count)
{
    braid_server *server = train_server_of(inputs->estimator);
    BD_STATUS(st);
    for (int i = 0; i < count && server && !st->code; i++) {
        const char *slash = strrchr(files[i], '/');
        char *dir = slash ? bd_strndup(files[i], (size_t)bd_max(slash - files[i], 1)) : bd_strdup(".");
        if (braid_server_allow_files(server, dir, st))
            braid_graph_fail(g, st->code, "Input file '%s': %s", files[i], braid_status_message(st));
        bd_free(dir);
    }
}

// Shuffled, repeated, batched and prefetched, as TensorFlow's functions order it.
static void next_batch(braid_graph *g, braid_dataset d, const batching *b, braid_out *outs)
{
    const int64_t buffer = b->shuffle_buffer > 0 ? b->shuffle_buffer : SHUFFLE_BUFFER_DEFAULT;
    if (b->shuffle) d = braid_dataset_shuffle(g, d, buffer, b->seed, true);
    if (b->num_epochs < 0 || b->num_epochs > 1)
        d = braid_dataset_repeat(g, d, b->num_epochs < 0 ? -1 : b->num_epochs);
    d = braid_dataset_batch(g, d, b->batch_size > 0 ? b->batch_size : BATCH_DEFAULT, false);
    d = braid_dataset_prefetch(g, d, 1);
    braid_iterator_get_next(g, braid_make_initializable_iterator(g, d, NULL), outs);
}

static bool is_label(const char *label, const char *name)
{
    return label && strcmp(label, name) == 0;
}

static void check_label(braid_graph *g, const char *label, bool found)
{
    if (label && !found)
        braid_graph_fail(g, BRAID_NOT_FOUND, "The input has no '%s', which is to be the label", label);
}

// ---- CSV ----

static braid_out default_of(braid_graph *g, const braid_csv_column *column)
{
    if (column->default_value) {
        const braid_shape shape = BRAID_SHAPE(1);
        return braid_reshape(g, braid_const(g, "record_default", column->default_value), shape);
    }
    braid_tensor *none = braid_tensor_new(column->dtype, BRAID_SHAPE(0), NULL);
    const braid_out out = braid_const(g, "record_default", none);
    braid_tensor_free(none);
    return out;
}

static braid_dataset csv_lines(braid_graph *g, const braid_csv_input *d)
{
    BD_ARRAY(braid_out) defaults = {0};
    for (int i = 0; i < d->column_count; i++)
        bd_array_push(&defaults, default_of(g, &d->columns[i]));
    const braid_dataset lines = braid_dataset_csv(g, file_names(g, d->files, d->file_count), defaults.items,
                                                  d->column_count, d->has_header);
    bd_array_free(&defaults);
    return lines;
}

static void build_csv(void *arg, braid_graph *g, braid_inputs *inputs)
{
    const braid_csv_input *d = arg;
    const batching b = {d->batch_size, d->num_epochs, d->shuffle_buffer, d->seed, d->shuffle};
    bool found = false;
    allow_files(g, inputs, d->files, d->file_count);
    braid_out *outs = bd_calloc((size_t)bd_max(d->column_count, 1), sizeof *outs);
    (void)braid_push_name_scope(g, "csv_input");
    next_batch(g, csv_lines(g, d), &b, outs);
    braid_pop_name_scope(g);
    for (int i = 0; i < d->column_count; i++) {
        if (!is_label(d->label, d->columns[i].name)) {
            braid_inputs_feature(inputs, d->columns[i].name, outs[i]);
            continue;
        }
        found = true;
        if (inputs->mode != BRAID_MODE_PREDICT) braid_inputs_label(inputs, NULL, outs[i]);
    }
    check_label(g, d->label, found);
    bd_free(outs);
}

braid_input braid_csv_input_fn(const braid_csv_input *description)
{
    return (braid_input){.build = build_csv, .arg = (void *)description};
}

// ---- TFRecord ----

static braid_dataset records(braid_graph *g, const braid_inputs *inputs, const braid_record_input *d)
{
    const braid_run_config *c = inputs->estimator->config;
    braid_dataset all = braid_dataset_tf_record(g, file_names(g, d->files, d->file_count), d->compression);
    if (!d->by_worker || inputs->mode != BRAID_MODE_TRAIN || c->num_worker_replicas < 2) return all;
    return braid_dataset_shard(g, all, c->num_worker_replicas, c->global_id_in_cluster);
}

static void take_parsed(braid_inputs *inputs, const braid_feature *feature, const braid_parsed *parsed,
                        bool labels)
{
    const braid_sparse sparse = {parsed->indices, parsed->values, parsed->dense_shape};
    if (labels && inputs->mode != BRAID_MODE_PREDICT)
        braid_inputs_label(inputs, NULL, parsed->values);
    else if (!labels)
        braid_inputs_sparse_feature(inputs, feature->name, sparse);
}

static void build_records(void *arg, braid_graph *g, braid_inputs *inputs)
{
    const braid_record_input *d = arg;
    const batching b = {d->batch_size, d->num_epochs, d->shuffle_buffer, d->seed, d->shuffle};
    bool found = false;
    allow_files(g, inputs, d->files, d->file_count);
    braid_out serialized = BRAID_NONE;
    braid_parsed *parsed = bd_calloc((size_t)bd_max(d->feature_count, 1), sizeof *parsed);
    (void)braid_push_name_scope(g, "record_input");
    next_batch(g, records(g, inputs, d), &b, &serialized);
    braid_parse_example(g, NULL, serialized, d->features, d->feature_count, parsed);
    braid_pop_name_scope(g);
    for (int i = 0; i < d->feature_count; i++) {
        const bool labels = is_label(d->label, d->features[i].name);
        take_parsed(inputs, &d->features[i], &parsed[i], labels);
        found = found || labels;
    }
    check_label(g, d->label, found);
    bd_free(parsed);
}

braid_input braid_record_input_fn(const braid_record_input *description)
{
    return (braid_input){.build = build_records, .arg = (void *)description};
}
