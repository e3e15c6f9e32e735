// Limits of waits that the environment sets.
#include "base/testing/test.h"

#include "base/wait_limits.h"
#include <stdlib.h>

static void the_grace_time_is_a_minute(void **state)
{
    (void)state;
    BD_STATUS(st);
    int64_t ms;
    unsetenv(BD_GRACE_VARIABLE);
    assert_int_equal(bd_grace_ms(&ms, st), BRAID_OK);
    assert_int_equal(ms, 60000);
}

static void the_environment_sets_another(void **state)
{
    (void)state;
    BD_STATUS(st);
    int64_t ms;
    setenv(BD_GRACE_VARIABLE, "2.5", 1);
    setenv(BD_START_TIMEOUT_VARIABLE, "7", 1);
    assert_int_equal(bd_grace_ms(&ms, st), BRAID_OK);
    assert_int_equal(ms, 2500);
    assert_int_equal(bd_start_timeout_ms(&ms, st), BRAID_OK);
    assert_int_equal(ms, 7000);
    unsetenv(BD_GRACE_VARIABLE);
    unsetenv(BD_START_TIMEOUT_VARIABLE);
}

static void a_malformed_number_is_an_error(void **state)
{
    (void)state;
    static const char *const wrong[] = {"soon", "-1", "0", "nan", "inf", "5 minutes", "1e30"};
    for (size_t i = 0; i < BD_COUNTOF(wrong); i++) {
        BD_STATUS(st);
        int64_t ms;
        setenv(BD_GRACE_VARIABLE, wrong[i], 1);
        bd_grace_ms(&ms, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, "BRAID_GRACE_SECONDS is not a number of seconds");
    }
    unsetenv(BD_GRACE_VARIABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_grace_time_is_a_minute),
        cmocka_unit_test(the_environment_sets_another),
        cmocka_unit_test(a_malformed_number_is_an_error),
    };
    return BD_RUN_TESTS(tests);
}
