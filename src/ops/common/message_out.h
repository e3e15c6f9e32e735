// Writes messages within each other to elements of string outputs: the same functions count the bytes, for
// the length in front of a message, and write them.
#ifndef BD_OPS_COMMON_MESSAGE_OUT_H
#define BD_OPS_COMMON_MESSAGE_OUT_H

#include "op/kernel.h"

typedef struct bd_message_out {
    char *to;   // where the next byte goes; NULL: bytes are only counted
    size_t len; // written so far
} bd_message_out;

// Writes the content of the message of `arg`.
typedef void (*bd_emit_fn)(bd_message_out *out, const void *arg);

void bd_emit_varint(bd_message_out *out, uint64_t value);
void bd_emit_int(bd_message_out *out, uint32_t field, int64_t value); // also 0
void bd_emit_float(bd_message_out *out, uint32_t field, float value); // also 0
void bd_emit_bytes(bd_message_out *out, uint32_t field, const void *data, size_t len);
void bd_emit_message(bd_message_out *out, uint32_t field, bd_emit_fn put, const void *arg);

// Makes element `at` of string output `i` the message of `arg`. False: the kernel has failed.
bool bd_output_message(bd_op_ctx *c, const braid_tensor *y, int64_t at, bd_emit_fn put, const void *arg);

#endif
