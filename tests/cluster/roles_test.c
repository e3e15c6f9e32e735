// Which role may call which method of a server: each cell of the table.
// labels: concurrent
#include "cluster/rpc/methods.h"
#include "cluster/service/services.h"
#include "support/tls_cluster.h"
#include "tensorflow/core/protobuf/worker.pb-c.h"
#include <stdio.h>
#include <string.h>

enum {
    METHODS_MAX = 64,
    SOON_MS = 300 // some methods answer when something happens
};

typedef struct row {
    const char *service;
    const bd_method *methods;
    braid_role role; // that is needed
} row;

// What docs/running.md says of the roles.
static const row rows[] = {
    {BD_WORKER_SERVICE, bd_worker_methods, BRAID_ROLE_TASK},
    {BD_CLUSTER_SERVICE, bd_cluster_methods, BRAID_ROLE_TASK},
    {BD_REPLICATION_SERVICE, bd_replication_methods, BRAID_ROLE_TASK},
    {BD_CLUSTER_SERVICE, bd_cluster_session_methods, BRAID_ROLE_CLIENT},
    {BD_MASTER_SERVICE, bd_master_methods, BRAID_ROLE_CLIENT},
    {BD_HEALTH_SERVICE, bd_health_methods, BRAID_ROLE_VIEWER},
    {BD_REFLECTION_SERVICE, bd_reflection_methods, BRAID_ROLE_VIEWER},
    {BD_MONITORING_SERVICE, bd_monitoring_methods, BRAID_ROLE_VIEWER},
};

static void check(const tls_caller *c, braid_role role, const char *method, braid_role needed)
{
    BD_STATUS(st);
    const Tensorflow__GetStatusRequest empty = TENSORFLOW__GET_STATUS_REQUEST__INIT; // fits all: no field
    tls_call_only(c, method, &empty.base, role < needed ? PATIENCE_MS : SOON_MS, st);
    const bool is_refused =
        st->code == BRAID_PERMISSION_DENIED && strstr(st->message, "needs a certificate of the role");
    if (is_refused != (role < needed))
        fail_msg("%s as %s: %s: %s", method, braid_role_name(role), braid_code_name(st->code), st->message);
}

static void a_role_may_call_the_methods_of_its_services(void **state)
{
    const tls_cluster *f = *state;
    static char names[METHODS_MAX][96]; // the transport takes static ones
    for (size_t i = 0, count = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (const bd_method *m = rows[i].methods; m->name; m++) {
            assert_true(count < METHODS_MAX);
            char *method = names[count++];
            snprintf(method, sizeof names[0], "%s%s", rows[i].service, m->name);
            check(&f->viewer, BRAID_ROLE_VIEWER, method, rows[i].role);
            check(&f->alice, BRAID_ROLE_CLIENT, method, rows[i].role);
            check(&f->task, BRAID_ROLE_TASK, method, rows[i].role);
        }
    }
}

static void a_method_that_there_is_not_is_a_tasks(void **state)
{
    const tls_cluster *f = *state;
    check(&f->viewer, BRAID_ROLE_VIEWER, BD_MASTER_SERVICE "Nothing", BRAID_ROLE_TASK);
    check(&f->alice, BRAID_ROLE_CLIENT, "/some.Service/Nothing", BRAID_ROLE_TASK);
    check(&f->task, BRAID_ROLE_TASK, "/some.Service/Nothing", BRAID_ROLE_TASK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_role_may_call_the_methods_of_its_services, tls_cluster_set_up,
                                        tls_cluster_tear_down),
        cmocka_unit_test_setup_teardown(a_method_that_there_is_not_is_a_tasks, tls_cluster_set_up,
                                        tls_cluster_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
