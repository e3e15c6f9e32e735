// What gRPC counts of a server and its connections (its channelz).
//
// gRPC parses calls faster than it hands them to the server, and keeps those that it has not handed over, as
// well as answers that a client does not read, without a limit: its bound on the calls of a connection
// (GRPC_ARG_MAX_CONCURRENT_STREAMS) holds only once the client has acknowledged it. Its counts are what shows
// of them. (Those of the whole server would not do: in them a call that is cancelled before it is handed over
// stays as begun for good.)
#ifndef BD_CLUSTER_GRPC_STATISTICS_H
#define BD_CLUSTER_GRPC_STATISTICS_H

#include <grpc/grpc.h>
#include <stdbool.h>
#include <stdint.h>

// What names the counts of a server.
typedef struct bd_grpc_counts {
    int64_t server_id, numbers_before;
} bd_grpc_counts;

// As grpc_server_create.
grpc_server *bd_grpc_server_create(const grpc_channel_args *args, bd_grpc_counts *counts);
// Before gRPC gets a connection.
void bd_grpc_count_connection(void);
// What names the counts of the newest connection whose name matches. 0: there is none. It takes some 50 us
// for each connection that is newer.
int64_t bd_grpc_find_connection(const bd_grpc_counts *counts,
                                bool (*matches)(const void *arg, const char *name), const void *arg);
// Calls of the connection that gRPC has begun and not ended, handed over or not. 0 when it has ended.
int64_t bd_grpc_open_calls(int64_t connection_id);

#endif
