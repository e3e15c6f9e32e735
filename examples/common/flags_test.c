// Command-line flags: their forms, and errors that name the correct form.
#include "base/testing/test.h"

#include "flags.h"
#include <stdio.h>
#include <unistd.h>

static int64_t steps;
static double rate;
static bool sync_on;
static const char *dir;
static char error_text[512];

// Parses a command line; captures stderr.
static flags_result parse(int argc, const char *const *args)
{
    steps = 200;
    rate = 0.5;
    sync_on = false;
    dir = "none";
    flag list[] = {{"train_steps", FLAG_INT, &steps, "", false},
                   {"rate", FLAG_FLOAT, &rate, "", false},
                   {"sync", FLAG_BOOL, &sync_on, "", false},
                   {"data_dir", FLAG_STRING, &dir, "", false}};
    char *argv[16] = {(char *)"/bin/program"};
    for (int i = 0; i < argc; i++)
        argv[i + 1] = (char *)args[i];
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    flags_result result = flags_parse(argc + 1, argv, "", list, 4);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    error_text[fread(error_text, 1, sizeof error_text - 1, file)] = '\0';
    fclose(file);
    return result;
}

#define PARSE(...)                                                                                           \
    parse(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})

static void values_may_follow_an_equals_sign_or_a_space(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--train_steps=7", "--rate", "1e-3", "--data_dir", "/x=y", "--sync"), FLAGS_OK);
    assert_int_equal(steps, 7);
    assert_float_equal(rate, 1e-3, 0);
    assert_string_equal(dir, "/x=y");
    assert_true(sync_on);
    assert_int_equal(PARSE("--data_dir="), FLAGS_OK);
    assert_string_equal(dir, "");
    assert_int_equal(steps, 200);
}

static void switches_take_true_false_or_no_value(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--sync", "true"), FLAGS_OK);
    assert_true(sync_on);
    assert_int_equal(PARSE("--sync=True"), FLAGS_OK);
    assert_true(sync_on);
    assert_int_equal(PARSE("--sync", "--nosync"), FLAGS_OK);
    assert_false(sync_on);
    assert_int_equal(PARSE("--sync", "--train_steps=3"), FLAGS_OK);
    assert_true(sync_on);
}

static void expect_error(flags_result result, const char *text)
{
    assert_int_equal(result, FLAGS_ERROR);
    if (!strstr(error_text, text)) fail_msg("'%s' does not say '%s'", error_text, text);
}

static void errors_name_the_correct_form(void **state)
{
    (void)state;
    expect_error(PARSE("--train_step=3"), "program: unknown flag --train_step; did you mean --train_steps?");
    expect_error(PARSE("--nothing_like_it"), "unknown flag --nothing_like_it (--help lists all)");
    expect_error(PARSE("--train_steps=many"), "--train_steps needs a whole number, not 'many'");
    expect_error(PARSE("--train_steps=99999999999999999999"), "needs a whole number");
    expect_error(PARSE("--rate="), "--rate needs a number, not ''");
    expect_error(PARSE("--sync=maybe"), "--sync needs true or false");
    expect_error(PARSE("--data_dir"), "--data_dir needs a value: --data_dir=...");
    expect_error(PARSE("train"), "'train' is no flag");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_may_follow_an_equals_sign_or_a_space),
        cmocka_unit_test(switches_take_true_false_or_no_value),
        cmocka_unit_test(errors_name_the_correct_form),
    };
    return BD_RUN_TESTS(tests);
}
