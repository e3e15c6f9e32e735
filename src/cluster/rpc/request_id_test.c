// Numbers of requests: unique, and remembered for a while.
#include "cluster/rpc/request_id.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void numbers_are_unique(void **state)
{
    (void)state;
    static bd_request_ids ids;
    bd_request_ids_init(&ids);
    for (int i = 0; i < 1000; i++) {
        const int64_t id = bd_request_id_next();
        assert_true(id > 0);
        assert_true(bd_request_ids_add(&ids, id));
    }
    bd_request_ids_fini(&ids);
}

static void a_repeated_request_id_is_a_duplicate(void **state)
{
    (void)state;
    static bd_request_ids ids;
    bd_request_ids_init(&ids);
    assert_true(bd_request_ids_add(&ids, 5));
    assert_false(bd_request_ids_add(&ids, 5));
    assert_true(bd_request_ids_add(&ids, -5));
    assert_true(bd_request_ids_add(&ids, 0)); // no number
    assert_true(bd_request_ids_add(&ids, 0));
    bd_request_ids_fini(&ids);
}

static void old_numbers_are_forgotten(void **state)
{
    (void)state;
    static bd_request_ids ids;
    bd_request_ids_init(&ids);
    for (int64_t id = 1; id <= BD_REQUEST_IDS_REMEMBERED; id++)
        assert_true(bd_request_ids_add(&ids, id));
    assert_false(bd_request_ids_add(&ids, 1));
    assert_true(bd_request_ids_add(&ids, BD_REQUEST_IDS_REMEMBERED + 1));
    assert_true(bd_request_ids_add(&ids, 1));
    assert_false(bd_request_ids_add(&ids, 3));
    bd_request_ids_fini(&ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_unique),
        cmocka_unit_test(a_repeated_request_id_is_a_duplicate),
        cmocka_unit_test(old_numbers_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
