// Warm starts: which variables of a second model begin with values of the first one.
#include "base/testing/test.h"

#include "base/alloc.h"
#include "train/testing/hook_fixture.h"
#include "train/testing/line_model.h"
#include <braid/checkpoint_reader.h>
#include <braid/estimator.h>
#include <braid/optimizers.h>
#include <string.h>

// Two variables with momentum, which a rate of 0 leaves as they begin.
typedef struct two_variables {
    const char *names[2];
    float first; // value of both
} two_variables;

static void model(const braid_model_args *args, braid_estimator_spec *spec)
{
    const two_variables *p = args->params;
    braid_graph *g = args->graph;
    braid_out sum = braid_features_get(args, "x");
    for (int i = 0; i < 2; i++)
        sum = braid_add(g, sum,
                        braid_variable_get(g, p->names[i], BRAID_FLOAT, BRAID_SCALAR,
                                           braid_constant_initializer(p->first), true)
                            .read);
    const braid_out loss = braid_reduce_mean(g, sum);
    braid_spec_loss(spec, loss);
    braid_spec_train_op(spec, braid_minimize(braid_momentum(g, 0, 0.5f), loss, braid_global_step(g)));
}

// Trains a step in the directory NAME below the test's, whose path is returned (bd_free).
static char *train(const char *name, const two_variables *params, const braid_warm_start *warm_start,
                   braid_status *st)
{
    line_data d;
    line_data_init(&d, 1, 1, -1);
    char *dir = bd_asprintf("%s/%s", hook_dir, name);
    const braid_run_config_options how = {.model_dir = dir, .tf_config = "{}", .log_step_count_steps = -1};
    braid_run_config *config = braid_run_config_new(&how, st);
    two_variables own = *params;
    braid_estimator *e = braid_estimator_new(
        &(braid_estimator_options){
            .model_fn = model, .params = &own, .config = config, .warm_start = warm_start},
        st);
    if (e)
        braid_estimator_train(e, &(braid_train_options){.input = braid_array_input_fn(&d.input), .steps = 1},
                              st);
    braid_estimator_free(e);
    braid_run_config_free(config);
    line_data_fini(&d);
    return dir;
}

static const two_variables earlier = {{"old/a", "b"}, 1}, later = {{"new/a", "b"}, 7};

static char *train_earlier(void)
{
    BD_STATUS(st);
    char *dir = train("earlier", &earlier, NULL, st);
    assert_ok(st);
    return dir;
}

static void expect_values(const char *dir, float a, float b, float momentum_of_b)
{
    assert_float_equal(line_checkpoint_value(dir, "new/a"), a, 0);
    assert_float_equal(line_checkpoint_value(dir, "b"), b, 0);
    assert_float_equal(line_checkpoint_value(dir, "b/Momentum"), momentum_of_b, 1e-6f);
}

// The gradient is 1, so that the momentum is 1 after a step, and 1.5 after a second one.
static void variables_are_chosen_and_renamed(void **state)
{
    (void)state;
    static const braid_renamed_variable renamed[] = {{"new/a", "old/a"}};
    static const struct {
        braid_warm_start w;
        float a, b, momentum;
    } cases[] = {
        {{.variables = NULL}, 7, 1, 1},
        {{.renamed = renamed, .renamed_count = 1}, 1, 1, 1},
        {{.variables = "new|none", .renamed = renamed, .renamed_count = 1}, 1, 7, 1},
        {{.variables = "b$", .untrained = true}, 7, 1, 1},
        {{.variables = "b", .untrained = true}, 7, 1, 1.5f},
        {{.variables = "/a"}, 7, 7, 1},
    };
    BD_STATUS(st);
    char *from = train_earlier();
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        braid_warm_start w = cases[i].w;
        w.from = from;
        char *name = bd_asprintf("later-%zu", i), *dir = train(name, &later, &w, st);
        assert_ok(st);
        expect_values(dir, cases[i].a, cases[i].b, cases[i].momentum);
        bd_free(name);
        bd_free(dir);
    }
    bd_free(from);
}

static void a_model_that_has_been_trained_goes_on_from_its_own_checkpoint(void **state)
{
    (void)state;
    BD_STATUS(st);
    char *from = train_earlier();
    const braid_warm_start w = {.from = from};
    bd_free(train("later", &later, &w, st));
    const braid_warm_start gone = {.from = "/nowhere"};
    char *dir = train("later", &later, &gone, st);
    assert_ok(st);
    expect_values(dir, 7, 1, 1.5f);
    bd_free(dir);
    bd_free(from);
}

static void expect_error(const braid_warm_start *w, braid_code code, const char *text)
{
    BD_STATUS(st);
    bd_free(train("wrong", &later, w, st));
    assert_error(st, code, text);
}

static void wrong_settings_are_named(void **state)
{
    (void)state;
    char *from = train_earlier();
    static const braid_renamed_variable missing[] = {{"c", "old/a"}}, unsaved[] = {{"b", "old/c"}},
                                        none[] = {{"b", NULL}};
    expect_error(&(braid_warm_start){0}, BRAID_INVALID_ARGUMENT, "not by both or none");
    expect_error(&(braid_warm_start){.from = "/nowhere"}, BRAID_NOT_FOUND, "/nowhere");
    expect_error(&(braid_warm_start){.from = from, .variables = "("}, BRAID_INVALID_ARGUMENT,
                 "'(' is no regular expression");
    expect_error(&(braid_warm_start){.from = from, .renamed = missing, .renamed_count = 1}, BRAID_NOT_FOUND,
                 "the variable 'c', which was 'old/a'");
    expect_error(&(braid_warm_start){.from = from, .renamed = unsaved, .renamed_count = 1}, BRAID_NOT_FOUND,
                 "Tensor old/c, for variable b, is not found");
    expect_error(&(braid_warm_start){.from = from, .renamed = none, .renamed_count = 1},
                 BRAID_INVALID_ARGUMENT, "lacks `name` or `previous`");
    bd_free(from);
}

int main(void)
{
#define HOOK_TEST(test) cmocka_unit_test_setup_teardown(test, hook_set_up, hook_tear_down)
    const struct CMUnitTest tests[] = {
        HOOK_TEST(variables_are_chosen_and_renamed),
        HOOK_TEST(a_model_that_has_been_trained_goes_on_from_its_own_checkpoint),
        HOOK_TEST(wrong_settings_are_named),
    };
    return BD_RUN_TESTS(tests);
}
