// Checks GraphDefs that clients send: their names must not look like those that a master gives to its own
// nodes.
#ifndef BD_GRAPH_GRAPH_DEF_EXTERNAL_H
#define BD_GRAPH_GRAPH_DEF_EXTERNAL_H

#include "base/wire.h"

// Finds the first node with an error that TensorFlow's import reports first. InvalidArgument, in TensorFlow's
// words: "Illegal op name 'NAME'", "Illegal op input name 'NAME'", "All control inputs must follow all data
// inputs". Malformed messages are left to the import.
braid_code bd_graph_def_check_external(const bd_message *graph_def, braid_status *st);

#endif
