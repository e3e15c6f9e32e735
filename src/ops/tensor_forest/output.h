// Writing of small messages within each other: the same functions count the bytes, for the length in front of
// a message, and write them.
#ifndef BD_OPS_TENSOR_FOREST_OUTPUT_H
#define BD_OPS_TENSOR_FOREST_OUTPUT_H

#include "op/kernel.h"

typedef struct bd_rf_output {
    char *to;   // where the next byte goes; NULL: bytes are only counted
    size_t len; // written so far
} bd_rf_output;

// Writes the content of the message of `arg`.
typedef void (*bd_rf_put)(bd_rf_output *out, const void *arg);

void bd_rf_put_varint(bd_rf_output *out, uint64_t value);
void bd_rf_put_int(bd_rf_output *out, uint32_t field, int64_t value); // also 0
void bd_rf_put_float(bd_rf_output *out, uint32_t field, float value); // also 0
void bd_rf_put_bytes(bd_rf_output *out, uint32_t field, const void *data, size_t len);
void bd_rf_put_message(bd_rf_output *out, uint32_t field, bd_rf_put put, const void *arg);

// Makes element `at` of string output `i` the message of `arg`. False: the kernel has failed.
bool bd_rf_output_message(bd_op_ctx *c, const braid_tensor *y, int64_t at, bd_rf_put put, const void *arg);

#endif
