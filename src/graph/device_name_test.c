// Device names: parsing and merging.
#include "base/testing/test.h"
#include "graph/device_name.h"

static bd_device_name parsed(const char *text)
{
    BD_STATUS(st);
    bd_device_name name;
    bd_device_name_parse(text, &name, st);
    assert_ok(st);
    return name;
}

static const char *printed(const bd_device_name *name)
{
    static char buf[BD_DEVICE_NAME_MAX];
    return bd_device_name_print(name, buf);
}

static void device_names_parse_and_print(void **state)
{
    (void)state;
    static const struct {
        const char *text, *canonical;
    } cases[] = {
        {"", ""},
        {"/", ""},
        {"/job:ps/replica:0/task:1/device:CPU:0", "/job:ps/replica:0/task:1/device:CPU:0"},
        {"/job:ps/task:1/cpu:0", "/job:ps/task:1/device:CPU:0"},
        {"/cpu:0", "/device:CPU:0"},
        {"/gpu:1", "/device:GPU:1"},
        {"/GPU:*", "/device:GPU:*"},
        {"/cpu", "/device:CPU:*"},
        {"/device:cpu:3", "/device:CPU:3"},
        {"/device:TPU", "/device:TPU:*"},
        {"/device:*:2", "/device:*:2"},
        {"/job:*/replica:*/task:7", "/task:7"},
        {"/task:1/job:ps", "/job:ps/task:1"},
        {"/job:worker", "/job:worker"},
        {"job:worker/task:0", "/job:worker/task:0"},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        bd_device_name name = parsed(cases[i].text);
        assert_string_equal(printed(&name), cases[i].canonical);
        bd_device_name again = parsed(printed(&name));
        assert_true(bd_device_name_equal(&name, &again));
    }
    bd_device_name nothing = parsed(NULL);
    assert_string_equal(printed(&nothing), "");
}

static void malformed_device_names_are_errors(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "/cpu:x",   "/job:",      "/job:1ps",          "/job:p-s",
        "/task:-1", "/task:",     "/task:99999999999", "/device:CPU:0/gpu:0",
        "nonsense", "/color:red", "/device:",          "/job:a:b",
    };
    BD_STATUS(st);
    bd_device_name long_name;
    char text[BD_DEVICE_JOB_MAX + 16] = "/job:";
    memset(text + strlen(text), 'a', BD_DEVICE_JOB_MAX); // one character too long
    bd_device_name_parse(text, &long_name, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Malformed device specification");
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        bd_device_name name;
        assert_int_equal(bd_device_name_parse(cases[i], &name, st), BRAID_INVALID_ARGUMENT);
        assert_error(st, BRAID_INVALID_ARGUMENT, "Malformed device specification '");
        assert_string_equal(printed(&name), "");
    }
}

static void the_inner_device_wins_a_merge(void **state)
{
    (void)state;
    static const struct {
        const char *outer, *inner, *merged;
    } cases[] = {
        {"/job:ps/task:0", "/cpu:0", "/job:ps/task:0/device:CPU:0"},
        {"/job:ps/task:0/cpu:0", "/task:1", "/job:ps/task:1/device:CPU:0"},
        {"/job:ps", "/job:worker", "/job:worker"},
        {"/gpu:1", "/device:CPU:*", "/device:CPU:1"},
        {"", "/job:a", "/job:a"},
        {"/job:a", "", "/job:a"},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        bd_device_name name = parsed(cases[i].outer), inner = parsed(cases[i].inner);
        bd_device_name_merge(&name, &inner);
        assert_string_equal(printed(&name), cases[i].merged);
    }
}

static void intersection_keeps_common_parts(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool soft, fits;
        const char *both;
    } cases[] = {
        {"/job:ps", "/task:1", false, true, "/job:ps/task:1"},
        {"/job:ps", "/job:worker", true, false, "/job:ps"},
        {"/task:0", "/task:1", true, false, "/task:0"},
        {"/cpu:0", "/gpu:0", false, false, "/device:CPU:0"},
        {"/job:ps/cpu:0", "/gpu:0", true, true, "/job:ps"},
        {"/cpu:0", "/cpu:1", true, true, ""},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        bd_device_name a = parsed(cases[i].a), b = parsed(cases[i].b);
        assert_int_equal(bd_device_name_intersect(&a, &b, cases[i].soft), cases[i].fits);
        assert_string_equal(printed(&a), cases[i].both);
    }
}

static void a_device_matches_its_partial_names(void **state)
{
    (void)state;
    bd_device_name full = parsed("/job:ps/replica:0/task:1/device:CPU:0");
    static const struct {
        const char *spec;
        bool matches;
    } cases[] = {
        {"", true},
        {"/job:ps", true},
        {"/job:PS", false},
        {"/task:1", true},
        {"/task:0", false},
        {"/CPU:0", true},
        {"/cpu:*", true},
        {"/gpu:*", false},
        {"/cpu:1", false},
        {"/job:worker", false},
        {"/replica:1", false},
        {"/job:ps/replica:0/task:1/device:CPU:0", true},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        bd_device_name spec = parsed(cases[i].spec);
        assert_int_equal(bd_device_name_matches(&spec, &full), cases[i].matches);
    }
    bd_device_name partial = parsed("/job:ps");
    assert_false(bd_device_name_matches(&full, &partial));
    assert_true(bd_device_name_is_full(&full));
    assert_false(bd_device_name_is_full(&partial));
    bd_device_name other = parsed("/job:ps/replica:0/task:1/device:GPU:0");
    assert_true(bd_device_name_same_task(&full, &other));
    assert_false(bd_device_name_same_task(&full, &partial));
    char task[BD_DEVICE_NAME_MAX];
    assert_string_equal(bd_device_name_print_task(&full, task), "/job:ps/replica:0/task:1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_names_parse_and_print),
        cmocka_unit_test(malformed_device_names_are_errors),
        cmocka_unit_test(the_inner_device_wins_a_merge),
        cmocka_unit_test(intersection_keeps_common_parts),
        cmocka_unit_test(a_device_matches_its_partial_names),
    };
    return BD_RUN_TESTS(tests);
}
