// Assets of exported models: vocabulary files go along with the model.
#include "base/testing/test.h"

#include "base/alloc.h"
#include "train/testing/hook_fixture.h"
#include <braid/canned_estimators.h>
#include <braid/estimator_inputs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// Two files of the same name in different directories; a third column reads the first one, too.
typedef struct vocabularies {
    char *jobs, *towns;
    braid_tensor *word, *label;
    braid_array features[3], labels;
    braid_array_input input;
    braid_feature_column columns[3];
    braid_run_config *config;
} vocabularies;

static char *write_words(const char *dir, const char *words)
{
    char *parent = bd_asprintf("%s/%s", hook_dir, dir), *path = bd_asprintf("%s/words.txt", parent);
    assert_int_equal(mkdir(parent, 0700), 0);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(words, file);
    fclose(file);
    bd_free(parent);
    return path;
}

static void vocabularies_init(vocabularies *v)
{
    BD_STATUS(st);
    static const char *const names[] = {"job", "former_job", "town"};
    *v = (vocabularies){.jobs = write_words("jobs", "cook\nsmith\n"),
                        .towns = write_words("towns", "Ulm\nBonn\n"),
                        .word = braid_tensor_new(BRAID_STRING, BRAID_SHAPE(1), NULL)};
    braid_tensor_set_string(v->word, 0, "cook", 4);
    v->label = braid_tensor_from(BRAID_INT64, BRAID_SHAPE(1), (const int64_t[]){1}, NULL);
    for (int i = 0; i < 3; i++) {
        v->features[i] = (braid_array){names[i], v->word};
        v->columns[i] = braid_vocabulary_file_column(names[i], i < 2 ? v->jobs : v->towns, 2);
    }
    v->labels = (braid_array){NULL, v->label};
    v->input = (braid_array_input){
        .features = v->features, .feature_count = 3, .labels = &v->labels, .label_count = 1, .batch_size = 1};
    char *model_dir = bd_asprintf("%s/model", hook_dir);
    v->config = braid_run_config_new(
        &(braid_run_config_options){.model_dir = model_dir, .tf_config = "{}", .log_step_count_steps = -1},
        st);
    bd_free(model_dir);
    assert_ok(st);
}

static void vocabularies_fini(vocabularies *v)
{
    braid_run_config_free(v->config);
    braid_tensor_free(v->word);
    braid_tensor_free(v->label);
    bd_free(v->jobs);
    bd_free(v->towns);
}

static braid_estimator *trained(vocabularies *v)
{
    BD_STATUS(st);
    braid_estimator *e = braid_linear_classifier(
        &(braid_canned_options){.config = v->config, .linear_columns = v->columns, .linear_column_count = 3},
        st);
    assert_ok(st);
    braid_estimator_train(e, &(braid_train_options){.input = braid_array_input_fn(&v->input), .steps = 1},
                          st);
    assert_ok(st);
    return e;
}

static char *export_model(braid_estimator *e, braid_status *st)
{
    static const braid_raw_feature raw[] = {{"job", BRAID_STRING, {.rank = 1, .dims = {-1}}},
                                            {"former_job", BRAID_STRING, {.rank = 1, .dims = {-1}}},
                                            {"town", BRAID_STRING, {.rank = 1, .dims = {-1}}}};
    static const braid_raw_features features = {raw, 3};
    char *base = bd_asprintf("%s/exports", hook_dir);
    char *dir = braid_estimator_export_saved_model(e, base, braid_raw_serving_input(&features), NULL, st);
    bd_free(base);
    return dir;
}

static void expect_file(const char *dir, const char *name, const char *want)
{
    char *path = bd_asprintf("%s/%s", dir, name), text[64] = {0};
    FILE *file = fopen(path, "re");
    if (!file) fail_msg("no %s", path);
    (void)fread(text, 1, sizeof text - 1, file);
    fclose(file);
    bd_free(path);
    assert_string_equal(text, want);
}

// How often the bytes occur in the model's message.
static int count_in_model(const char *dir, const char *bytes)
{
    char *command = bd_asprintf("grep -oa '%s' %s/saved_model.pb | wc -l", bytes, dir);
    FILE *pipe = popen(command, "r");
    int count = -1;
    assert_int_equal(fscanf(pipe, "%d", &count), 1);
    pclose(pipe);
    bd_free(command);
    return count;
}

static void vocabulary_files_are_copied_to_the_model(void **state)
{
    (void)state;
    BD_STATUS(st);
    vocabularies v;
    vocabularies_init(&v);
    braid_estimator *e = trained(&v);
    char *dir = export_model(e, st);
    assert_ok(st);
    expect_file(dir, "assets/words.txt", "cook\nsmith\n"); // columns are in the order of their names
    expect_file(dir, "assets/words.txt_1", "Ulm\nBonn\n");
    assert_int_equal(count_in_model(dir, "saved_model_assets"), 1);
    assert_int_equal(count_in_model(dir, "asset_filepaths"), 1);
    assert_int_equal(count_in_model(dir, "googleapis.com/tensorflow.AssetFileDef"), 3);
    bd_free(dir);
    braid_estimator_free(e);
    vocabularies_fini(&v);
}

static void a_vocabulary_file_that_is_gone_fails_the_export(void **state)
{
    (void)state;
    BD_STATUS(st);
    vocabularies v;
    vocabularies_init(&v);
    braid_estimator *e = trained(&v);
    assert_int_equal(remove(v.towns), 0);
    assert_null(export_model(e, st));
    assert_error(st, BRAID_NOT_FOUND, "towns/words.txt");
    braid_estimator_free(e);
    vocabularies_fini(&v);
}

int main(void)
{
#define HOOK_TEST(test) cmocka_unit_test_setup_teardown(test, hook_set_up, hook_tear_down)
    const struct CMUnitTest tests[] = {
        HOOK_TEST(vocabulary_files_are_copied_to_the_model),
        HOOK_TEST(a_vocabulary_file_that_is_gone_fails_the_export),
    };
    return BD_RUN_TESTS(tests);
}
