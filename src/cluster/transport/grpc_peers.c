// The connections to the gRPC servers of this process, from channelz: gRPC itself does not report the end of
// a connection.
//
// The list is made at most every PEERS_AGE_NS, for any number of callers.
#include "cluster/transport/grpc_internal.h"
#include <grpc/support/alloc.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define PEERS_AGE_NS (INT64_C(200) * 1000000)

static void unref_json(json_t **j)
{
    json_decref(*j);
}
#define OWNED_JSON __attribute__((cleanup(unref_json))) json_t *

// Parses the answer of a channelz function, which may be NULL.
static json_t *parse(char *text)
{
    json_t *j = text ? json_loads(text, 0, NULL) : NULL;
    gpr_free(text);
    return j;
}

static intptr_t id_of(const json_t *item, const char *ref, const char *key)
{
    const json_t *at = ref ? json_object_get(item, ref) : item;
    const char *text = json_string_value(json_object_get(at, key));
    return text ? (intptr_t)strtoll(text, NULL, 10) : 0;
}

static bool is_end(const json_t *page)
{
    return !page || json_is_true(json_object_get(page, "end"));
}

// "chttp2 ipv4:127.0.0.1:4321": the peer is the last word.
static void add_sockets(bd_map *peers, intptr_t server)
{
    for (intptr_t from = 0;;) {
        OWNED_JSON page = parse(grpc_channelz_get_server_sockets(server, from, 0));
        const json_t *sockets = json_object_get(page, "socketRef"), *s;
        size_t i;
        json_array_foreach(sockets, i, s)
        {
            const char *name = json_string_value(json_object_get(s, "name"));
            const char *space = name ? strrchr(name, ' ') : NULL;
            if (space) bd_map_put(peers, space + 1, peers);
            from = bd_max(from, id_of(s, NULL, "socketId") + 1);
        }
        if (is_end(page) || json_array_size(sockets) == 0) return;
    }
}

static void list_peers(bd_map *peers)
{
    bd_map_clear(peers);
    for (intptr_t from = 0;;) {
        OWNED_JSON page = parse(grpc_channelz_get_servers(from));
        const json_t *servers = json_object_get(page, "server"), *s;
        size_t i;
        json_array_foreach(servers, i, s)
        {
            const intptr_t id = id_of(s, "ref", "serverId");
            add_sockets(peers, id);
            from = bd_max(from, id + 1);
        }
        if (is_end(page) || json_array_size(servers) == 0) return;
    }
}

bool bd_grpc_is_connected(bd_transport *t, const char *peer)
{
    bd_grpc *g = BD_CONTAINER_OF(t, bd_grpc, base);
    bd_mutex_lock(&g->peers_mu);
    const int64_t now_ns = bd_now_ns();
    if (g->peers_ns == 0 || now_ns - g->peers_ns >= PEERS_AGE_NS) {
        list_peers(&g->peers);
        g->peers_ns = now_ns;
    }
    const bool is_connected = bd_map_has(&g->peers, peer);
    bd_mutex_unlock(&g->peers_mu);
    return is_connected;
}
