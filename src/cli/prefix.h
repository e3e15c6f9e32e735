// Output of many tasks on one terminal or log: whole lines, each behind the name of its task. Nothing here
// blocks: a reader of ours that is slow must not keep us from signals and time limits.
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
    bool is_broken; // whoever read it is gone: what comes is dropped, the tasks go on
} bd_task_output;

static inline size_t bd_task_output_waiting(const bd_task_output *o)
{
    return o->queue.len - o->written;
}
// Writes a piece of what waits. Call it when poll says that `fd` takes some.
void bd_task_output_flush(bd_task_output *o);

// A stream of a task.
typedef struct bd_prefixed {
    int from;           // read end of the task's pipe, non-blocking; -1 once it has ended
    bd_task_output *to; // not owned
    const char *prefix; // "worker/1 | ", with colours if `to` is a terminal; not owned
    bd_strbuf pending;  // a line not ended yet
} bd_prefixed;

typedef enum bd_pump {
    BD_PUMP_MORE,
    BD_PUMP_NOTHING_NOW,
    BD_PUMP_END
} bd_pump;

// Takes one piece of what there is to read. At the end of the stream what is pending is a line, and `from` is
// closed.
bd_pump bd_prefixed_pump(bd_prefixed *p);
// Ends the stream as if the other side had closed it.
void bd_prefixed_end(bd_prefixed *p);

#endif
