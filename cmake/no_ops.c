// An empty op table, for tests of modules that are built below the ops.
#include "graph/op.h"

const bd_op_entry bd_op_table[] = {{0}};
const size_t bd_op_table_len = 0;
