// A link: two rings between a client and a server on one host, over which the client's calls go, and the
// frames of calls in them.
//
// A frame is a header, `head_bytes` bytes of text and `body_bytes` bytes of a message. The client sends
// requests (text: the method) and cancellations, the server responses (text: the message of an error).
// Frames follow each other in the ring; a frame that is larger than the free part of the ring is written
// bit by bit as the other end reads. A thread that sends does not wait for that: what has no space in the
// ring is kept, in order.
//
// hello -> up -> broken. What is sent to a link that is not up is dropped: its calls have ended, or will.
#ifndef BD_CLUSTER_SHM_PIPE_H
#define BD_CLUSTER_SHM_PIPE_H

#include "base/thread.h"
#include "base/wire.h"
#include "cluster/transport/shm_ring.h"

typedef enum bd_shm_kind {
    BD_SHM_REQUEST = 1,
    BD_SHM_CANCEL,
    BD_SHM_RESPONSE
} bd_shm_kind;

#define BD_SHM_NO_DEADLINE INT64_MAX

// The header in the ring.
typedef struct bd_shm_header {
    uint32_t kind;
    uint32_t code;      // of a response
    uint64_t id;        // of the call, drawn by the client
    int64_t timeout_ns; // of a request
    uint64_t head_bytes, body_bytes;
} bd_shm_header;

#define BD_SHM_HEAD_BYTES_MAX ((size_t)8 << 10)

// A frame that has been read. Zero-initialized, with an initialized body, it is empty.
typedef struct bd_shm_frame {
    bd_shm_header header;
    char *head; // zero-terminated
    bd_message body;
} bd_shm_frame;

void bd_shm_frame_fini(bd_shm_frame *f);

// The memory of a link.
typedef struct bd_shm_segment {
    bd_shm_ring requests, responses;
} bd_shm_segment;

// Both directions of a link, as one of its ends sees it.
typedef struct bd_shm_pipe {
    bd_shm_segment *segment; // NULL before it is known
    bd_shm_bell *bell;       // of the other process
    size_t body_bytes_max;   // of a frame that arrives

    bd_mutex send_mu;
    bd_shm_end out; // guarded by send_mu, as the frames that wait
    struct bd_shm_waiting *first, **last;
    size_t waiting_bytes;     // of them
    size_t waiting_bytes_max; // beyond it nothing is read: the other end does not read
    bool is_over;             // nothing is sent any more
    bd_cond changed;
    atomic_bool has_waiting, is_behind;

    bd_mutex read_mu;
    bd_shm_end in; // guarded by read_mu, as the frame that is arriving
    bd_shm_frame arriving;
    uint8_t *body;            // of the frame
    struct bd_buffer *pooled; // that has it; NULL: none
    size_t body_read;
    bool has_header, has_head, is_broken;
    _Atomic uint64_t ready_at; // reading goes on when so many bytes have been written
} bd_shm_pipe;

void bd_shm_pipe_init(bd_shm_pipe *p);
void bd_shm_pipe_fini(bd_shm_pipe *p);
// `is_server`: this end reads requests. Takes over the mappings.
void bd_shm_pipe_open(bd_shm_pipe *p, bd_shm_segment *segment, bd_shm_bell *bell, bool is_server);

// Sends a frame. `head` has header->head_bytes bytes; `body` is taken over (left empty); NULL: none. Any
// thread. False: the other process has broken the ring.
bool bd_shm_pipe_send(bd_shm_pipe *p, bd_shm_header *header, const char *head, bd_message *body);

// Whether more waits to be sent than may (waiting_bytes_max): nothing is to be read until that is less. Any
// thread.
bool bd_shm_pipe_is_behind(const bd_shm_pipe *p);
// Whether there is something to read, or space for what waits to be sent. Any thread.
bool bd_shm_pipe_is_ready(const bd_shm_pipe *p);
// Sends what waits, as far as there is space.
bool bd_shm_pipe_flush(bd_shm_pipe *p);

// Waits until everything is sent, or the pipe is over.
void bd_shm_pipe_await_sent(bd_shm_pipe *p, int64_t deadline_ns);
void bd_shm_pipe_end(bd_shm_pipe *p);

typedef enum bd_shm_arrival {
    BD_SHM_NOTHING, // has arrived
    BD_SHM_MORE,    // a part of a frame
    BD_SHM_FRAME,
    BD_SHM_BROKEN,
} bd_shm_arrival;

// Reads what has arrived, up to the end of a frame, which is moved to *out (empty). With read_mu held. For
// a broken ring, *why is static.
bd_shm_arrival bd_shm_pipe_read(bd_shm_pipe *p, bd_shm_frame *out, const char **why);

#endif
