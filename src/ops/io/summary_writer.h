// The resource that ops write summaries to: a file of events, from CreateSummaryFileWriter on.
#ifndef BD_OPS_IO_SUMMARY_WRITER_H
#define BD_OPS_IO_SUMMARY_WRITER_H

#include "io/events.h"
#include "op/kernel.h"

// Returns the file of the writer whose handle is input `i`. It stays open until the caller unrefs `*r`
// (bd_resource_unref). Returns NULL when the kernel has failed.
bd_event_writer *bd_input_event_writer(bd_op_ctx *c, int i, bd_resource **r);

#endif
