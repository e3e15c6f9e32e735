// Shared by ops that make summaries.
#ifndef BD_OPS_IO_SUMMARY_H
#define BD_OPS_IO_SUMMARY_H

#include "io/summary.h"
#include "op/kernel.h"

// Element `i` of string input `input`.
bd_summary_tag bd_input_tag(const bd_op_ctx *c, int input, int64_t i);

// Fails with the message unless the input is a scalar or a vector of one.
bool bd_summary_check_scalar(bd_op_ctx *c, int input, const char *message);

// A Summary that becomes output 0: begin, put values to `out`, end (also when the execution has failed
// meanwhile).
typedef struct bd_summary_output {
    bd_message fields;
    bd_wire_writer out;
} bd_summary_output;
void bd_summary_begin(bd_summary_output *o);
void bd_summary_end(bd_op_ctx *c, bd_summary_output *o);

// Shared by ops that make summaries and ops that write them to files; they append to `out`, or the execution
// fails. Images of a batch: input `tag` is their tag, input `tag + 1` the batch.
typedef struct bd_summary_images {
    bd_op_ctx *c;
    int tag;
    int64_t max_images;
    const braid_tensor *bad_color; // a uint8 vector
} bd_summary_images;
void bd_summary_put_images(const bd_summary_images *images, bd_wire_writer *out);
// Writes the sounds of a batch: input `tag + 1` is the batch, input `tag + 2` the sample rate if it is not an
// attr.
void bd_summary_put_sounds(bd_op_ctx *c, int tag, bd_wire_writer *out);

#endif
