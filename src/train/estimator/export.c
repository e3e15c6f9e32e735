// Export of a model: its signatures, and the directory of the SavedModel, which is written beside its place
// and then renamed.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "train/common/build.h"
#include "train/estimator/assets.h"
#include "train/estimator/estimator.h"
#include "train/estimator/saved_model.h"
#include "train/sessions/saver.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct export_job {
    braid_estimator *estimator;
    train_model model;
    braid_receiver receiver;
    braid_saver *saver;
    BD_ARRAY(train_signature) signatures;
    train_assets assets;
    braid_op *main_op;
} export_job;

// ---- Signatures ----

// Classification and regression take serialized Examples, one string tensor.
static const braid_named_tensor *examples_of(const braid_receiver *r)
{
    const bool is_one = r->tensors.len == 1 && braid_out_dtype(r->tensors.items[0].values) == BRAID_STRING;
    return is_one ? &r->tensors.items[0] : NULL;
}

static void add_signature(export_job *j, const char *key, const train_export *e)
{
    static const char *const methods[] = {[TRAIN_EXPORT_REGRESSION] = "tensorflow/serving/regress",
                                          [TRAIN_EXPORT_CLASSIFICATION] = "tensorflow/serving/classify",
                                          [TRAIN_EXPORT_PREDICT] = "tensorflow/serving/predict"};
    if (e->kind != TRAIN_EXPORT_PREDICT && !examples_of(&j->receiver)) {
        bd_info("Export: the signature '%s' is left out, because it takes serialized Examples", key);
        return;
    }
    const train_signature s = {.key = key,
                               .method = methods[e->kind],
                               .inputs = j->receiver.tensors.items,
                               .input_count = (int)j->receiver.tensors.len,
                               .outputs = e->outputs.items,
                               .output_count = (int)e->outputs.len};
    bd_array_push(&j->signatures, s);
}

// Classification and regression call their input "inputs".
static void name_examples(export_job *j, braid_named_tensor *inputs)
{
    const braid_named_tensor *examples = examples_of(&j->receiver);
    if (!examples) return;
    *inputs = *examples;
    inputs->name = "inputs";
    for (size_t i = 0; i < j->signatures.len; i++)
        if (!strstr(j->signatures.items[i].method, "predict")) j->signatures.items[i].inputs = inputs;
}

static void list_predictions(export_job *j)
{
    const train_tensors *p = &j->model.spec.predictions;
    if (!j->model.spec.exports.len && p->len)
        braid_spec_export_predict(&j->model.spec, BRAID_SERVING_DEFAULT, p->items, (int)p->len);
}

static braid_code list_signatures(export_job *j, braid_status *st)
{
    list_predictions(j);
    const train_export *exports = j->model.spec.exports.items;
    const size_t count = j->model.spec.exports.len;
    for (size_t i = 0; i < count; i++)
        add_signature(j, exports[i].key, &exports[i]);
    if (count == 1 && strcmp(exports[0].key, BRAID_SERVING_DEFAULT) != 0)
        add_signature(j, BRAID_SERVING_DEFAULT, &exports[0]);
    if (j->signatures.len) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s",
                   count ? "None of the model's signatures takes the serving input: classification and "
                           "regression take serialized Examples (braid_parsing_serving_input)"
                         : "The model function has set no predictions and no outputs to export "
                           "(braid_spec_prediction)");
}

// ---- The graph ----

// What is run when the model is loaded: tables and local variables.
static braid_op *build_main_op(braid_graph *g, const braid_scaffold *scaffold)
{
    if (scaffold->local_init_op) return scaffold->local_init_op;
    int tables, locals;
    const braid_out *inits = braid_collection(g, BRAID_TABLE_INITIALIZERS, &tables);
    (void)braid_collection(g, BRAID_LOCAL_VARIABLES, &locals);
    if (!tables && !locals) return NULL;
    BD_ARRAY(braid_op *) ops = {0};
    for (int i = 0; i < tables; i++)
        bd_array_push(&ops, inits[i].op);
    if (locals) bd_array_push(&ops, braid_local_variables_initializer(g));
    braid_op *op = braid_group(g, "main_op", ops.items, (int)ops.len);
    bd_array_free(&ops);
    return op;
}

static braid_code build(export_job *j, const braid_serving_input *input, braid_status *st)
{
    if (!input->build) return bd_fail(st, BRAID_INVALID_ARGUMENT, "A serving input has no function `build`");
    if (train_model_build(&j->model, j->estimator, BRAID_MODE_PREDICT, NULL,
                          &(train_serving){input, &j->receiver}, st))
        return st->code;
    if (!j->receiver.tensors.len)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "The serving input has no placeholders for requests (braid_receiver_tensor)");
    if (list_signatures(j, st)) return st->code;
    j->saver = braid_saver_new(j->model.graph, NULL);
    j->main_op = build_main_op(j->model.graph, &j->model.spec.scaffold);
    j->model.spec.scaffold.saver = j->saver; // restores the checkpoint
    return braid_graph_status(j->model.graph, st);
}

// ---- Files ----

static braid_code write_file(const char *path, const void *data, size_t len, braid_status *st)
{
    FILE *file = fopen(path, "we");
    const bool failed = !file || fwrite(data, 1, len, file) != len || fflush(file) || fsync(fileno(file));
    if (failed) bd_fail(st, BRAID_UNAVAILABLE, "Cannot write '%s': %s", path, strerror(errno));
    if (file) fclose(file);
    return st->code;
}

static braid_code write_model(export_job *j, const char *dir, braid_status *st)
{
    braid_named_tensor inputs;
    name_examples(j, &inputs);
    const train_saved_model model = {.saver = j->saver,
                                     .signatures = j->signatures.items,
                                     .signature_count = (int)j->signatures.len,
                                     .main_op = j->main_op,
                                     .assets = &j->assets};
    size_t len;
    void *data = train_saved_model_write(&model, &len, st);
    char *path = bd_asprintf("%s/saved_model.pb", dir);
    if (data) write_file(path, data, len, st);
    bd_free(path);
    bd_free(data);
    return st->code;
}

static braid_code write_variables(const export_job *j, braid_session *session, const char *dir,
                                  braid_status *st)
{
    char *prefix = bd_asprintf("%s/variables/variables", dir);
    braid_tensor *fed = braid_tensor_string(prefix), *saved = NULL;
    const braid_feed feed = {j->saver->filename, fed};
    const braid_fetch fetch = {j->saver->saved, &saved};
    braid_session_run(
        session, &(braid_run_args){.feeds = &feed, .feed_count = 1, .fetches = &fetch, .fetch_count = 1}, st);
    braid_tensor_free(fed);
    braid_tensor_free(saved);
    bd_free(prefix);
    return st->code;
}

// What a session of the model knows: the values of variables, and which files are assets.
static braid_code write_values(export_job *j, const char *checkpoint, const char *dir, braid_status *st)
{
    train_hook_list hooks = {0};
    braid_monitored_session *s = train_open_restored(j->estimator, &j->model, checkpoint, &hooks);
    braid_session *session = braid_monitored_session_status(s, st) ? NULL : braid_monitored_session_raw(s);
    if (session && !write_variables(j, session, dir, st) &&
        !train_assets_find(&j->assets, j->model.graph, session, st))
        train_assets_copy(&j->assets, dir, st);
    return train_session_result(braid_monitored_session_close(s), st);
}

// A directory BASE/SECONDS that does not exist; two exports within a second get different ones.
static char *choose_place(const char *base)
{
    for (int64_t seconds = bd_wall_micros() / 1000000;; seconds++) {
        char *path = bd_asprintf("%s/%lld", base, (long long)seconds);
        if (access(path, F_OK) != 0) return path;
        bd_free(path);
    }
}

static char *write_all(export_job *j, const char *checkpoint, const char *base, braid_status *st)
{
    if (braid_checkpoint_make_dir(base, st)) return NULL;
    char *place = choose_place(base);
    char *part = bd_asprintf("%s/temp-%s", base, strrchr(place, '/') + 1);
    char *variables = bd_asprintf("%s/variables", part);
    const bool failed = braid_checkpoint_make_dir(variables, st) || write_values(j, checkpoint, part, st) ||
                        write_model(j, part, st);
    if (!failed && rename(part, place))
        bd_fail(st, BRAID_UNAVAILABLE, "Cannot rename '%s' to '%s': %s", part, place, strerror(errno));
    bd_free(variables);
    bd_free(part);
    if (!st->code) return place;
    bd_free(place);
    return NULL;
}

static char *export_checkpoint(export_job *j, const braid_serving_input *input, const char *wanted,
                               const char *base, braid_status *st)
{
    char *checkpoint = wanted ? bd_strdup(wanted) : braid_estimator_latest_checkpoint(j->estimator, st);
    if (!checkpoint) {
        bd_status_prefix(st, "Export: there is no trained model: ");
        return NULL;
    }
    char *place = build(j, input, st) ? NULL : write_all(j, checkpoint, base, st);
    if (place) bd_info("The model of %s is exported to %s", checkpoint, place);
    bd_free(checkpoint);
    return place;
}

char *braid_estimator_export_saved_model(braid_estimator *e, const char *export_dir_base,
                                         braid_serving_input input, const braid_export_options *options,
                                         braid_status *status)
{
    BD_STATUS(unwanted);
    export_job j = {.estimator = e};
    char *place = export_checkpoint(&j, &input, options ? options->checkpoint_path : NULL, export_dir_base,
                                    status ? status : unwanted);
    bd_array_free(&j.signatures);
    train_assets_fini(&j.assets);
    train_tensors_fini(&j.receiver.tensors);
    train_tensors_fini(&j.receiver.features);
    train_model_fini(&j.model);
    return place;
}
