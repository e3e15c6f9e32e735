// Headers for every test: cmocka with its required headers, and checks of statuses.
#ifndef BD_BASE_TESTING_TEST_H
#define BD_BASE_TESTING_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// cmocka is last because it needs those above.
#include <cmocka.h>

#include "base/check.h"
#include "base/status.h"

// The exit code of a test program that could not run (see cmake/BraidTests.cmake).
#define BD_TEST_SKIPPED 77

// Fails with the message of the status unless it is OK.
#define assert_ok(st)                                                                                        \
    do {                                                                                                     \
        if ((st)->code != BRAID_OK) {                                                                        \
            fail_msg("%s: %s", braid_code_name((st)->code), braid_status_message(st));                       \
        }                                                                                                    \
    } while (0)

// Fails unless the status has this code and its message contains this text; the status is cleared.
#define assert_error(st, expected_code, text)                                                                \
    do {                                                                                                     \
        if ((st)->code != (expected_code) || !strstr(braid_status_message(st), (text))) {                    \
            fail_msg("got %s: %s", braid_code_name((st)->code), braid_status_message(st));                   \
        }                                                                                                    \
        braid_status_clear(st);                                                                              \
    } while (0)

// Runs the tests of the array `tests`; the value of main.
#define BD_RUN_TESTS(tests) cmocka_run_group_tests((tests), NULL, NULL)

#endif
