// Summaries: what TensorBoard shows, as values of a Summary message.
#ifndef BD_IO_SUMMARY_H
#define BD_IO_SUMMARY_H

#include "io/histogram.h"

// Append a value under a tag to the fields of a Summary: summaries put one after the other are one summary of all.
void bd_summary_put_scalar(bd_wire_writer *out, const char *tag, float value);
void bd_summary_put_histogram(bd_wire_writer *out, const char *tag, const bd_histogram *h);

#endif
