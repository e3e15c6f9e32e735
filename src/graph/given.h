// Messages that a public function gives to its caller, in memory of the C library.
#ifndef BD_GRAPH_GIVEN_H
#define BD_GRAPH_GIVEN_H

#include "base/wire.h"

// A message being written.
typedef struct bd_given {
    bd_message message;
    bd_wire_writer w;
} bd_given;

// Returns the writer of a new message.
bd_wire_writer *bd_given_begin(bd_given *g);
// Returns the message in one block and its length. NULL when memory is short: ResourceExhausted names `what`.
void *bd_given_end(bd_given *g, const char *what, size_t *len, braid_status *st);
// Drops the message instead.
void bd_given_drop(bd_given *g);
// Appends the message to another one as a field instead.
void bd_given_put(bd_given *g, bd_wire_writer *outer, uint32_t field);

#endif
