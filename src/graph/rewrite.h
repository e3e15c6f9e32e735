// Graph rewrites: passes over the graph of one device before it is compiled into a plan. A rewritten graph
// computes the same results in fewer nodes and fewer passes over memory.
//
// Every rewrite keeps these properties:
//   - A node that is stateful, takes or gives a reference or a resource, sends, receives or controls a loop
//     runs as often as before, after the same nodes, on the same inputs.
//   - A node without consumers still runs.
//   - A dead value (of a branch not taken) remains dead.
//   - Values do not move between the frames of loops.
// Pure nodes may vanish or run once for several nodes; step statistics then show fewer nodes.
//
// The static shapes of variables and of fed placeholders are hints only: a run may find other shapes, and
// results must not depend on them.
//
// The passes of this module are listed in rewrite.c and have a file each. A pass that replaces nodes by an op
// of its own (a fusion) is in the file of that op's kernel; the registry finds it: bd_op.fusion.
#ifndef BD_GRAPH_REWRITE_H
#define BD_GRAPH_REWRITE_H

#include "graph/evaluate.h"
#include <braid/session.h>

// Constants do not grow beyond this by folding: TensorFlow's limit.
#define BD_FOLDED_BYTES_MAX (INT64_C(10) << 20)
// The limit of all folded constants of one graph, which exist at the same time, as a multiple of the limit of
// one.
#define BD_FOLDED_TOTAL 16
// How long the thread may compute constants of one graph: nodes left then run in each step.
#define BD_FOLDING_NS_MAX INT64_C(500000000)

typedef struct bd_rewrite_options {
    unsigned off;             // rewrites not wanted: BRAID_REWRITE_...
    int64_t folded_bytes_max; // 0: BD_FOLDED_BYTES_MAX
    int64_t folding_ns_max;   // 0: BD_FOLDING_NS_MAX
    bd_evaluate_fn evaluate;  // NULL: constants are not folded
} bd_rewrite_options;

// Rewrites `g`, which is not published and whose nodes are all on one device. A graph that cannot be run (a
// cycle, a missing input) is left for the plan to refuse. Internal when a rewrite makes a node that its op
// does not allow; the graph is then as valid as before.
braid_code bd_rewrite_graph(braid_graph *g, const bd_rewrite_options *options, braid_status *st);

// ---- For passes ----

typedef struct bd_rewriter bd_rewriter;

typedef struct bd_fusion {
    unsigned rewrite; // BRAID_REWRITE_...: which option switches it off
    braid_code (*run)(bd_rewriter *r, braid_status *st);
} bd_fusion;

const bd_rewrite_options *bd_rewriter_options(const bd_rewriter *r);
braid_graph *bd_rewriter_graph(bd_rewriter *r);

// The nodes that were there when the pass began, inputs first; removed ones stay in it.
const bd_op_list *bd_rewriter_order(const bd_rewriter *r);
// Sorts the nodes topologically; ids of nodes change.
braid_code bd_rewriter_sort(bd_rewriter *r, braid_status *st);
bool bd_rewriter_is_removed(const bd_rewriter *r, const braid_op *n);

// Returns the current consumers of `n`; valid until the next change.
const bd_consumer *bd_rewriter_consumers(bd_rewriter *r, const braid_op *n, int *count);
// Too many for a pass to look at them for each of them; some may be gone.
bool bd_rewriter_has_many_consumers(const bd_rewriter *r, const braid_op *n);
// Returns the only consumer of `n`, if it takes it by one data edge and `n` is not needed otherwise; else
// NULL.
braid_op *bd_rewriter_only_consumer(bd_rewriter *r, const braid_op *n);

// A node with no effect but its outputs, which follow from its inputs' values.
bool bd_rewriter_is_pure(const braid_op *n);
// Returns whether its values may be dead, or belong to a loop: it follows a Switch, a loop or a Recv.
bool bd_rewriter_may_be_dead(const bd_rewriter *r, const braid_op *n);
// Returns whether `n` changes a variable or runs after such a node: nodes that run after `n` read variables
// later than `n` did.
bool bd_rewriter_follows_update(const bd_rewriter *r, const braid_op *n);

// Everything that takes output `from` takes `to` instead.
void bd_rewriter_move_output(bd_rewriter *r, braid_out from, braid_out to);
// Everything that runs after `from` runs after `to` instead.
void bd_rewriter_move_controls(bd_rewriter *r, const braid_op *from, braid_op *to);
// Removes a node without consumers.
void bd_rewriter_remove(bd_rewriter *r, braid_op *n);
// bd_graph_add.
braid_code bd_rewriter_add(bd_rewriter *r, const bd_node_spec *spec, braid_op **node, braid_status *st);
// Replaces `n` by another node with the same name, device and outputs (spec->name and devices are ignored);
// its consumers stay. On an error `n` is unchanged.
braid_code bd_rewriter_become(bd_rewriter *r, braid_op *n, const bd_node_spec *spec, braid_status *st);

#endif
