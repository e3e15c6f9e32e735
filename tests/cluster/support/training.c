// Training on a cluster.
#include "training.h"

#include "base/alloc.h"
#include "io/testing/temp_dir.h"

test_training *test_training_new(test_network network, int ps, int workers)
{
    test_training *t = bd_calloc(1, sizeof *t);
    t->cluster = test_cluster_new(network, ps, workers);
    t->dir = bd_temp_dir_new();
    return t;
}

void test_training_free(test_training *t)
{
    test_cluster_free(t->cluster);
    bd_temp_dir_free(t->dir);
    bd_free(t);
}

braid_session_config test_worker_config(braid_server *server, int index, const char *checkpoint_dir)
{
    static const char *const filters[] = {"/job:ps"};
    return (braid_session_config){
        .session = {.server = server, .device_filters = filters, .device_filter_count = 1},
        .is_chief = index == 0,
        .checkpoint_dir = checkpoint_dir};
}

void test_worker_close(braid_monitored_session *s, braid_graph *g, braid_code code)
{
    assert_int_equal(braid_monitored_session_close(s), code);
    braid_graph_free(g);
}
