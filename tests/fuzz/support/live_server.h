// A live server for fuzzers, over the in-process transport: /job:worker/task:0; task 1, if there is one, is
// the fuzzer.
#ifndef BD_TESTS_FUZZ_LIVE_SERVER_H
#define BD_TESTS_FUZZ_LIVE_SERVER_H

#include "base/status.h"
#include "base/thread.h"
#include "base/wire.h"
#include "cluster/transport/transport.h"
#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#define LIVE_TASK "/job:worker/replica:0/task:0"
#define LIVE_DEVICE LIVE_TASK "/device:CPU:0"
#define LIVE_PEER_DEVICE "/job:worker/replica:0/task:1/device:CPU:0"

// Starts it in a cluster of 1 or 2 workers, quietly; what a request may make it allocate for tensors is
// limited.
void live_start(int workers);

// A worker session "s" and a graph in it, written as text; its handle (bd_free).
char *live_register(const char *graph_text);

// What the fuzzer's own task answers to RecvTensor from now on; `data` is borrowed.
void live_peer_answers(const uint8_t *data, size_t size);

// ---- Calls ----

typedef struct live_call {
    bd_call *call;
    bd_event has_come;
    bd_message response;
    braid_status st;
} live_call;

// Begins a call and leaves `request` empty. Calls arrive in the order in which they were begun.
void live_call_begin(live_call *c, const char *method, bd_message *request);
void live_call_wait(live_call *c);   // for the answer: st, and the response if it is OK
void live_call_cancel(live_call *c); // the answer comes then, whatever the call waits for
void live_call_fini(live_call *c);

// Ends a step: what still waits in it is answered.
void live_clean_up(int64_t step_id);

// The number in a field of a message, as a server reads it: the last; 0 when there is none.
int64_t live_field(const bd_message *m, uint32_t field);

// A call with a message that must succeed; its response stays in `c`.
void live_must_call(live_call *c, const char *method, const ProtobufCMessage *request);

#endif
