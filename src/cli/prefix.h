// Output of many tasks on one terminal or log: whole lines, each behind the name of its task.
#ifndef BD_CLI_PREFIX_H
#define BD_CLI_PREFIX_H

#include "base/strbuf.h"

// A line longer than this is written in pieces.
#define BD_PREFIX_LINE_MAX 65536

typedef struct bd_prefixed {
    int from;           // read end of the task's pipe, non-blocking; -1 once it has ended
    int to;             // where lines go
    const char *prefix; // "worker/1 | ", with colours if `to` is a terminal; not owned
    bd_strbuf pending;  // a line not ended yet
} bd_prefixed;

// Copies what there is to read. Returns false once the other side has closed: then what is pending has been written and `from` is closed.
bool bd_prefixed_pump(bd_prefixed *p);

#endif
