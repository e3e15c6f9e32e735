// What gRPC counts of a server (its channelz).
//
// gRPC parses calls faster than it hands them to the server, and keeps those that it has not handed over, as
// well as answers that a client does not read, without a limit: its bound on the calls of a connection
// (GRPC_ARG_MAX_CONCURRENT_STREAMS) holds only once the client has acknowledged it. Its counts are what shows
// of them.
#ifndef BD_CLUSTER_GRPC_STATISTICS_H
#define BD_CLUSTER_GRPC_STATISTICS_H

#include <grpc/grpc.h>
#include <stdint.h>

// As grpc_server_create. `id` gets what names its counts.
grpc_server *bd_grpc_server_create(const grpc_channel_args *args, int64_t *id);
// Calls that gRPC has begun and not ended, handed over or not. 0 when gRPC does not know the server.
int64_t bd_grpc_open_calls(int64_t server_id);

#endif
