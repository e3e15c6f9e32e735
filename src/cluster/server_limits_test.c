// Limits of a server: what is written, what the environment says, and what is refused.
#include "base/system_memory.h"
#include "base/testing/test.h"
#include "cluster/server_limits.h"
#include <stdlib.h>
#include <string.h>

static int forget_environment(void **state)
{
    (void)state;
    return unsetenv("BRAID_LIMITS");
}

static void without_a_list_there_are_defaults_that_fit_the_memory(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_server_limits l;
    assert_int_equal(bd_server_limits_parse(NULL, &l, st), BRAID_OK);
    assert_true(l.transport.calls > 0 && l.sessions > 0 && l.transport.message_bytes > 0);
    assert_true(l.memory_bytes > l.transport.message_bytes && l.memory_bytes < bd_system_memory());
    assert_int_equal(l.step_ms, 0);
    assert_int_equal(l.client.memory_bytes, 0);
    assert_float_equal(l.client.processors, 0, 0);
    assert_int_equal(l.transport.connections, 0);
}

static void a_list_sets_what_it_names(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_server_limits l;
    assert_int_equal(
        bd_server_limits_parse(
            "connections=7,calls=8,sessions=9,messages=10K,memory=3T,client-memory=2G,processors=1.25,"
            "step-time=1.5",
            &l, st),
        BRAID_OK);
    assert_int_equal(l.transport.connections, 7);
    assert_int_equal(l.transport.calls, 8);
    assert_int_equal(l.sessions, 9);
    assert_int_equal(l.transport.message_bytes, 10 << 10);
    assert_int_equal(l.memory_bytes, INT64_C(3) << 40);
    assert_int_equal(l.step_ms, 1500);
    assert_int_equal(l.client.memory_bytes, INT64_C(2) << 30);
    assert_float_equal(l.client.processors, 1.25, 0);
}

static void the_list_goes_before_the_environment(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_server_limits l;
    setenv("BRAID_LIMITS", "calls=5,sessions=6", 1);
    assert_int_equal(bd_server_limits_parse("calls=9", &l, st), BRAID_OK);
    assert_int_equal(l.transport.calls, 9);
    assert_int_equal(l.sessions, 6);
}

static void what_is_malformed_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *list, *part;
    } bad[] = {
        {"foo=3", "'foo=3' is no limit"},
        {"calls", "'calls' is no limit"},
        {"=3", "'=3' is no limit"},
        {"sessions=1,calls=0", "The limit 'calls=0'"},
        {"calls=-1", "The limit 'calls=-1'"},
        {"calls=3x", "The limit 'calls=3x'"},
        {"calls=2147483648", "The limit 'calls=2147483648'"},
        {"calls=", "The limit 'calls='"},
        {"memory=0", "The limit 'memory=0'"},
        {"memory=1P", "The limit 'memory=1P'"},
        {"memory=9000000000G", "The limit 'memory=9000000000G'"},
        {"memory=99999999999999999999", "The limit 'memory=99999999999999999999'"},
        {"processors=0", "The limit 'processors=0'"},
        {"processors=nan", "The limit 'processors=nan'"},
        {"step-time=0", "The limit 'step-time=0'"},
        {"step-time=nan", "The limit 'step-time=nan'"},
        {"step-time=1e300", "The limit 'step-time=1e300'"},
    };
    for (size_t i = 0; i < BD_COUNTOF(bad); i++) {
        BD_STATUS(st);
        bd_server_limits l;
        assert_int_equal(bd_server_limits_parse(bad[i].list, &l, st), BRAID_INVALID_ARGUMENT);
        if (!strstr(st->message, bad[i].part)) fail_msg("'%s' lacks '%s'", st->message, bad[i].part);
    }
    BD_STATUS(st);
    bd_server_limits l;
    setenv("BRAID_LIMITS", "calls=x", 1);
    assert_int_equal(bd_server_limits_parse("calls=9", &l, st), BRAID_INVALID_ARGUMENT);
    assert_non_null(strstr(st->message, "The environment variable BRAID_LIMITS: The limit 'calls=x'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_a_list_there_are_defaults_that_fit_the_memory, forget_environment),
        cmocka_unit_test_setup(a_list_sets_what_it_names, forget_environment),
        cmocka_unit_test_setup(the_list_goes_before_the_environment, forget_environment),
        cmocka_unit_test_setup(what_is_malformed_is_named, forget_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
