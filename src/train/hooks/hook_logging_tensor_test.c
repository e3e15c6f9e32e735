// Values that are logged while training, and at its end.
#include "base/testing/test.h"

#include "train/testing/hook_fixture.h"
#include <stdio.h>
#include <string.h>

static void tensors_are_logged(void **state)
{
    (void)state;
    small_model m = small_model_make();
    hook_expect_log("loss = ");
    const char *const tag = "loss";
    braid_monitored_session *s =
        small_model_open(&m, BRAID_HOOKS(braid_logging_tensor(&(braid_logging_tensor_options){
                                 .tensors = &m.loss, .tags = &tag, .count = 1, .every_steps = 2})));
    hook_train(s, &m, 3);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(m.graph);
    float first = 0, third = 0;
    assert_int_equal(sscanf(bd_strbuf_str(&hook_log), "loss = %f\nloss = %f (", &first, &third), 2);
    assert_float_equal(first, 9, 1e-6f);
    assert_float_equal(third, 9 * 0.81f * 0.81f, 1e-5f);
}

static void tensors_are_logged_at_the_end_alone(void **state)
{
    (void)state;
    small_model m = small_model_make();
    hook_expect_log("the loss = ");
    braid_hook *log = braid_logging_tensor(&(braid_logging_tensor_options){
        .tensors = &m.loss, .tags = (const char *[]){"the loss"}, .count = 1, .at_end = true});
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(log));
    hook_train(s, &m, 3);
    assert_string_equal(bd_strbuf_str(&hook_log), "");
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    float value;
    assert_int_equal(sscanf(bd_strbuf_str(&hook_log), "the loss = %f", &value), 1);
    assert_float_equal(value, 9 * 0.531441f, 1e-5f); // 0.9^6
    braid_set_log_sink(NULL, NULL);
    braid_graph_free(m.graph);
}

static char *make_line(void *arg, braid_tensor *const *values)
{
    const float loss = *(const float *)braid_tensor_data(values[0]);
    return loss > 8 ? NULL : strdup(arg); // 9 before the first step
}

static void a_formatter_makes_the_lines(void **state)
{
    (void)state;
    small_model m = small_model_make();
    hook_expect_log("a line of its own");
    braid_hook *log =
        braid_logging_tensor(&(braid_logging_tensor_options){.tensors = &m.loss,
                                                             .count = 1,
                                                             .every_steps = 1,
                                                             .formatter = make_line,
                                                             .formatter_arg = "a line of its own"});
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(log));
    hook_train(s, &m, 3);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    assert_string_equal(bd_strbuf_str(&hook_log), "a line of its own\na line of its own\n");
    braid_graph_free(m.graph);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, hook_set_up, hook_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(tensors_are_logged),
        TEST(tensors_are_logged_at_the_end_alone),
        TEST(a_formatter_makes_the_lines),
    };
    return BD_RUN_TESTS(tests);
}
