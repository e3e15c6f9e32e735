// Reading tensors from the memory of another process: what is read, and when it is refused.
// labels: concurrent
#include "base/alloc.h"
#include "base/shared_memory_variables.h"
#include "cluster/rpc/cross_memory.h"
#include "cluster/rpc/testing/memory_sender.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    BYTES = (9 << 20) + 5,
    UNPRIVILEGED = 65534 // a user
};
#define ID 4711

typedef struct fixture {
    bd_cross_memory *m;
    uint8_t *expected, *bytes; // as many as the tensor has
    memory_sender sender;
    Braid__TensorMemory memory;
} fixture;

static int set_up(void **state)
{
    fixture *f = bd_calloc(1, sizeof *f);
    f->m = bd_cross_memory_new();
    f->bytes = bd_calloc(1, BYTES);
    f->expected = bd_malloc(BYTES);
    for (size_t i = 0; i < BYTES; i++)
        f->expected[i] = (uint8_t)(i * 2654435761u >> 13);
    memory_sender_start(&f->sender, f->m, f->expected, BYTES, ID);
    f->memory = f->sender.memory;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    memory_sender_end(&f->sender);
    bd_cross_memory_free(f->m);
    bd_free(f->bytes);
    bd_free(f->expected);
    bd_free(f);
    return 0;
}

static bool is_read(fixture *f)
{
    const size_t part = BYTES / 3;
    return bd_cross_memory_read(f->m, &f->memory, part, f->bytes + part, BYTES - part) &&
           bd_cross_memory_read(f->m, &f->memory, 0, f->bytes, part) &&
           bd_cross_memory_is_held(f->m, &f->memory, ID);
}

static bool still_offers(const fixture *f)
{
    uint8_t offer[BD_CROSS_MEMORY_OFFER_BYTES];
    return bd_cross_memory_offer(f->m, offer) != 0;
}

static void a_tensor_of_another_process_is_read(void **state)
{
    fixture *f = *state;
    assert_true(is_read(f));
    assert_memory_equal(f->bytes, f->expected, BYTES);
}

static void a_tensor_that_is_not_held_any_more_is_not_taken(void **state)
{
    fixture *f = *state;
    memory_sender_let_go(&f->sender);
    assert_false(is_read(f));
    assert_true(still_offers(f));
}

static void a_process_without_the_key_is_not_read(void **state)
{
    fixture *f = *state;
    f->memory.key_at = f->memory.data_at;
    assert_false(is_read(f));
    assert_true(still_offers(f)); // the next offer tells a sender that knows an old key
}

static void addresses_that_do_not_exist_are_refused(void **state)
{
    fixture *f = *state;
    f->memory.data_at = UINT64_MAX - 4096;
    assert_false(is_read(f));
    f->memory.data_at = 0;
    assert_false(is_read(f));
}

static void processes_that_do_not_exist_are_refused(void **state)
{
    fixture *f = *state;
    static const uint32_t pids[] = {0, INT32_MAX, UINT32_MAX};
    for (size_t i = 0; i < sizeof pids / sizeof pids[0]; i++) {
        f->memory.pid = pids[i];
        assert_false(is_read(f));
    }
}

static void a_process_does_not_read_itself_for_a_peer(void **state)
{
    fixture *f = *state;
    static _Atomic uint64_t id = ID;
    uint8_t offer[BD_CROSS_MEMORY_OFFER_BYTES];
    bd_cross_memory *own = bd_cross_memory_new();
    const size_t len = bd_cross_memory_offer(f->m, offer);
    bd_cross_memory_accept(own, offer, len);
    assert_false(bd_cross_memory_is_accepted(own));
    bd_cross_memory_describe(f->m, &id, f->bytes, &f->memory);
    assert_false(is_read(f));
    bd_cross_memory_free(own);
}

static void offers_of_other_hosts_and_malformed_ones_are_not_accepted(void **state)
{
    const fixture *f = *state;
    uint8_t offer[BD_CROSS_MEMORY_OFFER_BYTES];
    bd_cross_memory_offer(f->m, offer);
    bd_cross_memory_accept(f->m, offer, sizeof offer - 1);
    assert_false(bd_cross_memory_is_accepted(f->m));
    bd_cross_memory_accept(f->m, NULL, 0);
    assert_false(bd_cross_memory_is_accepted(f->m));
    offer[0] ^= 1;
    bd_cross_memory_accept(f->m, offer, sizeof offer);
    assert_false(bd_cross_memory_is_accepted(f->m));
}

static void the_offer_is_withdrawn_when_the_kernel_refuses(void **state)
{
    fixture *f = *state;
    // A user that may not trace the sender: it runs as another one, or does not allow it.
    const pid_t reader = fork();
    if (reader == 0) {
        if (geteuid() == 0 && (setregid(UNPRIVILEGED, UNPRIVILEGED) || setreuid(UNPRIVILEGED, UNPRIVILEGED)))
            _exit(2);
        if (geteuid() != UNPRIVILEGED) f->memory.pid = 1; // init
        _exit(is_read(f) || still_offers(f));
    }
    int status;
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_int_equal(status, 0);
}

static void a_variable_turns_it_off(void **state)
{
    (void)state;
    setenv(BD_CROSS_MEMORY_VARIABLE, "0", 1);
    assert_null(bd_cross_memory_new());
    unsetenv(BD_CROSS_MEMORY_VARIABLE);
    uint8_t offer[BD_CROSS_MEMORY_OFFER_BYTES];
    assert_int_equal(bd_cross_memory_offer(NULL, offer), 0);
    assert_false(bd_cross_memory_is_accepted(NULL));
    bd_cross_memory_accept(NULL, offer, 0);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_tensor_of_another_process_is_read),
        TEST(a_tensor_that_is_not_held_any_more_is_not_taken),
        TEST(a_process_without_the_key_is_not_read),
        TEST(addresses_that_do_not_exist_are_refused),
        TEST(processes_that_do_not_exist_are_refused),
        TEST(a_process_does_not_read_itself_for_a_peer),
        TEST(offers_of_other_hosts_and_malformed_ones_are_not_accepted),
        TEST(the_offer_is_withdrawn_when_the_kernel_refuses),
        cmocka_unit_test(a_variable_turns_it_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
