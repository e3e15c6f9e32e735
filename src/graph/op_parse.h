// Parsing op definitions from the notation of op.h.
#ifndef BD_GRAPH_OP_PARSE_H
#define BD_GRAPH_OP_PARSE_H

#include "graph/op.h"

// Parses a signature "(a: T) -> (b: T)" and attrs "T:type{float,half}=float; N:int>=1" (NULL: none) into
// `def`, whose memory comes from `arena`; tensors of defaults go to `tensors`. `def->op` is not changed.
// InvalidArgument names the mistake.
braid_code bd_op_def_parse(bd_op_def *def, const char *name, const char *signature, const char *attrs,
                           bd_arena *arena, bd_attr_tensors *tensors, braid_status *st);

#endif
