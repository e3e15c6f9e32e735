// Counts of gRPC servers and their connections, which gRPC gives as JSON.
#include "cluster/transport/grpc_statistics.h"

#include "base/thread.h"
#include <grpc/support/alloc.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

// gRPC numbers all that it counts: a server, the port of one that speaks TLS, connections.
#define NUMBERS_OF_A_SERVER 2

static atomic_int_fast64_t numbers; // about as many as gRPC has used, from some time on

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

grpc_server *bd_grpc_server_create(const grpc_channel_args *args, bd_grpc_counts *counts)
{
    static bd_mutex mu = BD_MUTEX_INIT; // no other server comes between the two
    bd_mutex_lock(&mu);
    grpc_server *server = grpc_server_create(args, NULL);
    counts->server_id = newest_server();
    counts->numbers_before = atomic_fetch_add_explicit(&numbers, NUMBERS_OF_A_SERVER, memory_order_relaxed);
    bd_mutex_unlock(&mu);
    return server;
}

void bd_grpc_count_connection(void)
{
    atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed);
}

// A connection is named as "chttp2 ipv4:127.0.0.1:4321".
static bool is_connection(int64_t id, bool (*matches)(const void *arg, const char *name), const void *arg)
{
    json_t *root = parsed(grpc_channelz_get_socket((intptr_t)id));
    const json_t *ref = json_object_get(json_object_get(root, "socket"), "ref");
    const char *name = json_string_value(json_object_get(ref, "name"));
    const char *space = name ? strchr(name, ' ') : NULL;
    const bool is_it = space && matches(arg, space + 1);
    json_decref(root);
    return is_it;
}

int64_t bd_grpc_find_connection(const bd_grpc_counts *counts,
                                bool (*matches)(const void *arg, const char *name), const void *arg)
{
    int64_t id =
        counts->server_id + atomic_load_explicit(&numbers, memory_order_relaxed) - counts->numbers_before;
    while (id > counts->server_id && !is_connection(id, matches, arg)) // ends: at the server
        id--;
    return id > counts->server_id ? id : 0;
}

int64_t bd_grpc_open_calls(int64_t connection_id)
{
    json_t *root = parsed(grpc_channelz_get_socket((intptr_t)connection_id));
    const json_t *data = json_object_get(json_object_get(root, "socket"), "data");
    const int64_t open =
        number(data, "streamsStarted") - number(data, "streamsSucceeded") - number(data, "streamsFailed");
    json_decref(root);
    return open;
}
