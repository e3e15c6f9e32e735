// What `braid run` and an agent, its process on another host, say to each other over the streams of ssh.
//
// A frame is a byte of its type, the length of its content in four bytes (lowest first), and the content. The
// agent begins with HELLO, `braid run` with FILEs, if there are any, and START. Each side is heard from at
// least every BD_PING_MS: `braid run` sends PING, the agent answers with PING. A side that has heard nothing
// for BD_SILENCE_MS takes the other one for lost.
#ifndef BD_CLI_FRAMES_H
#define BD_CLI_FRAMES_H

#include "base/strbuf.h"
#include <stdint.h>

#define BD_PING_MS 5000
// A lost host is noticed after this. It is longer than the pauses of a network that recovers.
#define BD_SILENCE_MS 20000
// The time for ssh to connect and log in.
#define BD_CONNECT_MS 60000
// Environments and arguments have 2 MB at most, by the default of Linux.
#define BD_FRAME_MAX (4 << 20)
#define BD_HELLO "braid agent 2"

typedef enum bd_frame_type {
    BD_FRAME_HELLO = 'H',  // agent: BD_HELLO
    BD_FRAME_FILE = 'F',   // run: a file of the certificate: its name, a zero, its content
    BD_FRAME_START = 'S',  // run: strings, each with its zero (bd_start_append)
    BD_FRAME_SIGNAL = 'K', // run: the number of a signal for the task, as text
    BD_FRAME_PING = 'P',   // both
    BD_FRAME_OUT = '1',    // agent: standard output of the task
    BD_FRAME_ERR = '2',    // agent: its standard error
    BD_FRAME_DONE = 'D',   // agent: what the task has said about its work (base/done_notice.h)
    BD_FRAME_EXIT = 'E',   // agent, the last one: the exit code of the task, as text
    BD_FRAME_KILLED = 'X'  // agent, the last one: the signal that has killed the task
} bd_frame_type;

typedef struct bd_frame {
    char type;
    const char *data; // not owned, valid until the next call; not terminated
    size_t len;
} bd_frame;

void bd_frame_append(bd_strbuf *to, bd_frame_type type, const void *data, size_t len);
void bd_frame_append_file(bd_strbuf *to, const char *name, const void *data, size_t len);
// The content of FILE; false: it is malformed. The strings are in the memory of `f`.
bool bd_frame_read_file(const bd_frame *f, const char **name, const char **data, size_t *len);
void bd_frame_append_number(bd_strbuf *to, bd_frame_type type, int number);
// The number of such a frame; -1: it has none.
int bd_frame_number(const bd_frame *f);

// Bytes on their way: appended to `data`, taken from its front.
typedef struct bd_byte_queue {
    bd_strbuf data;
    size_t taken;
} bd_byte_queue;

void bd_byte_queue_fini(bd_byte_queue *q);
static inline size_t bd_byte_queue_len(const bd_byte_queue *q)
{
    return q->data.len - q->taken;
}
// Writes what a non-blocking descriptor takes. False: its reader is gone.
bool bd_byte_queue_write(bd_byte_queue *q, int fd);
// Reads a piece from a non-blocking descriptor. False: it has ended; *got is whether there was anything.
bool bd_byte_queue_read(bd_byte_queue *q, int fd, bool *got);

// Takes the next frame. Returns 1; 0: it is not there yet; -1: the bytes are no frame.
int bd_frame_next(bd_byte_queue *q, bd_frame *out);

// What an agent is to start.
typedef struct bd_start {
    const char *directory, *program;
    char **argv, **variables;
    int argc, variable_count;
} bd_start;

void bd_start_append(bd_strbuf *to, const bd_start *s);
// Reads the content of START; false: it is malformed. bd_start_fini frees the arrays; the strings are in the
// memory of `f`.
bool bd_start_read(const bd_frame *f, bd_start *out);
void bd_start_fini(bd_start *s);

#endif
