// Counts of a gRPC server, which gRPC gives as JSON.
#include "cluster/transport/grpc_statistics.h"

#include "base/thread.h"
#include <grpc/support/alloc.h>
#include <jansson.h>
#include <stdlib.h>

static json_t *parsed(char *text)
{
    json_t *root = text ? json_loads(text, 0, NULL) : NULL;
    gpr_free(text);
    return root;
}

// gRPC writes numbers as strings, and leaves out those that are 0.
static int64_t number(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? strtoll(text, NULL, 10) : 0;
}

// gRPC numbers what it counts upwards.
static int64_t newest_server(void)
{
    int64_t newest = 0;
    for (bool is_end = false; !is_end;) {
        json_t *root = parsed(grpc_channelz_get_servers((intptr_t)newest + 1));
        const json_t *servers = json_object_get(root, "server");
        for (size_t i = 0; i < json_array_size(servers); i++)
            newest = number(json_object_get(json_array_get(servers, i), "ref"), "serverId");
        is_end = json_is_true(json_object_get(root, "end")) || json_array_size(servers) == 0;
        json_decref(root);
    }
    return newest;
}

grpc_server *bd_grpc_server_create(const grpc_channel_args *args, int64_t *id)
{
    static bd_mutex mu = BD_MUTEX_INIT; // no other server comes between the two
    bd_mutex_lock(&mu);
    grpc_server *server = grpc_server_create(args, NULL);
    *id = newest_server();
    bd_mutex_unlock(&mu);
    return server;
}

int64_t bd_grpc_open_calls(int64_t server_id)
{
    json_t *root = parsed(grpc_channelz_get_server((intptr_t)server_id));
    const json_t *data = json_object_get(json_object_get(root, "server"), "data");
    const int64_t open =
        number(data, "callsStarted") - number(data, "callsSucceeded") - number(data, "callsFailed");
    json_decref(root);
    return open;
}
