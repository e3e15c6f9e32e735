// Output of many tasks on one terminal or log: whole lines, each preceded by the name of its task. No
// function blocks: a slow reader must not delay signals and time limits.
#ifndef BD_CLI_PREFIX_H
#define BD_CLI_PREFIX_H

#include "base/strbuf.h"

// A line longer than this is written in pieces.
#define BD_PREFIX_LINE_MAX 65536
// With more than this unwritten, no more is read from the tasks until our reader has caught up.
#define BD_OUTPUT_QUEUE_MAX (1 << 20)

// Where lines go: standard output or standard error.
typedef struct bd_task_output {
    int fd;
    bd_strbuf queue;
    size_t written; // bytes at the front of the queue
    bool is_broken; // the reader is gone: further output is dropped, the tasks continue
} bd_task_output;

static inline size_t bd_task_output_waiting(const bd_task_output *o)
{
    return o->queue.len - o->written;
}
// Writes a piece of the pending output. Call it when poll reports `fd` writable.
void bd_task_output_flush(bd_task_output *o);

// A stream of a task.
typedef struct bd_prefixed {
    int from;           // read end of the task's pipe, non-blocking; -1: ended, or fed by bd_prefixed_take
    bd_task_output *to; // not owned
    const char *prefix; // "worker/1 | ", with colours if `to` is a terminal; not owned
    bd_strbuf pending;  // a line not ended yet
} bd_prefixed;

typedef enum bd_pump {
    BD_PUMP_MORE,
    BD_PUMP_NOTHING_NOW,
    BD_PUMP_END
} bd_pump;

// Takes a piece that has been read elsewhere.
void bd_prefixed_take(bd_prefixed *p, const char *data, size_t len);
// Reads one piece. At the end of the stream the pending text is a line, and `from` is closed.
bd_pump bd_prefixed_pump(bd_prefixed *p);
// Ends the stream as if the other side had closed it.
void bd_prefixed_end(bd_prefixed *p);

#endif
