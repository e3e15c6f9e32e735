// A parameter server and a worker that speak TLS, and callers with certificates of each role.
#include "tls_cluster.h"
#include "base/alloc.h"
#include "proto/pack.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void dir_of(const tls_cluster *f, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", f->keys, name);
}

static void connect_as(const tls_cluster *f, const char *name, tls_caller *c)
{
    BD_STATUS(st);
    char dir[64];
    braid_role role;
    dir_of(f, name, dir, sizeof dir);
    c->transport = bd_grpc_transport_new(st);
    bd_grpc_transport_use_tls(c->transport, dir, &role, st);
    assert_int_equal(st->code, BRAID_OK);
    c->channel = c->transport->connect(c->transport, braid_cluster_address(f->cluster->spec, "worker", 0));
}

static void disconnect(tls_caller *c)
{
    c->transport->channel_close(c->channel);
    c->transport->free(c->transport);
}

int tls_cluster_set_up(void **state)
{
    tls_cluster *f = bd_calloc(1, sizeof *f);
    BD_STATUS(st);
    char dir[64];
    strcpy(f->keys, "/tmp/braid-test-XXXXXX");
    assert_non_null(mkdtemp(f->keys));
    braid_keys_new(f->keys, st);
    braid_keys_add(f->keys, "task", BRAID_ROLE_TASK, 30, st);
    braid_keys_add(f->keys, "alice", BRAID_ROLE_CLIENT, 30, st);
    braid_keys_add(f->keys, "bob", BRAID_ROLE_CLIENT, 30, st);
    braid_keys_add(f->keys, "viewer", BRAID_ROLE_VIEWER, 30, st);
    assert_int_equal(st->code, BRAID_OK);
    f->cluster = test_cluster_new(TEST_GRPC, 1, 1);
    dir_of(f, "task", dir, sizeof dir);
    test_start_all(f->cluster, &(braid_server_options){.tls_dir = dir});
    connect_as(f, "task", &f->task);
    connect_as(f, "alice", &f->alice);
    connect_as(f, "bob", &f->bob);
    connect_as(f, "viewer", &f->viewer);
    *state = f;
    return 0;
}

int tls_cluster_tear_down(void **state)
{
    tls_cluster *f = *state;
    disconnect(&f->task);
    disconnect(&f->alice);
    disconnect(&f->bob);
    disconnect(&f->viewer);
    test_cluster_free(f->cluster);
    char *command = bd_asprintf("rm -rf %s", f->keys);
    const int code = system(command); // NOLINT(cert-env33-c): a path of our own
    bd_free(command);
    bd_free(f);
    return code;
}

braid_code tls_call(const tls_caller *c, const char *method, const ProtobufCMessage *request,
                    int64_t patience_ms, bd_message *response, braid_status *st)
{
    const bd_rpc_options options = {.transport = c->transport,
                                    .channel = c->channel,
                                    .method = method,
                                    .deadline_ns = bd_deadline_after_ms(patience_ms),
                                    .wait_for_ready = true};
    bd_message message;
    bd_message_init(&message);
    bd_proto_pack_message(request, &message);
    braid_status_clear(st);
    return bd_rpc_wait(&options, &message, NULL, "", response, st);
}

braid_code tls_call_only(const tls_caller *c, const char *method, const ProtobufCMessage *request,
                         int64_t patience_ms, braid_status *st)
{
    bd_message response;
    const braid_code code = tls_call(c, method, request, patience_ms, &response, st);
    bd_message_fini(&response);
    return code;
}
