// Building dataflow graphs: operations, their inputs and attributes, and the scopes that apply to new nodes.
//
// Errors are sticky: build freely and check once with braid_graph_status. After the first error every call
// returns NULL, or an output whose op is NULL, which later calls accept without an error of their own; the
// status names the place of the first error.
//
// One thread at a time builds. Meanwhile other threads may run steps of sessions on the graph: a session
// takes the new nodes of a call that builds (a node, a gradient, an import) all or none.
#ifndef BRAID_GRAPH_H
#define BRAID_GRAPH_H

#include <braid/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_graph braid_graph;

/// A node of a graph. Owned by its graph and valid as long as it.
typedef struct braid_op braid_op;

/// One output of a node: TensorFlow's "name:index".
typedef struct braid_out {
    braid_op *op;
    int index;
} braid_out;

/// One data input of a node.
typedef struct braid_in {
    braid_op *op;
    int index;
} braid_in;

BRAID_API braid_graph *braid_graph_new(void);
/// Frees the graph and everything in it; NULL is accepted. Sessions opened on it must be closed before.
BRAID_API void braid_graph_free(braid_graph *graph);

/// Returns the code of the first error made while building and copies it to `status` (may be NULL).
BRAID_API braid_code braid_graph_status(const braid_graph *graph, braid_status *status);

/// Makes the graph fail with a message unless it has already failed: for helpers that build on this
/// interface.
BRAID_API void braid_graph_fail(braid_graph *graph, braid_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/// Returns the first error as braid_graph_status does and makes the graph usable again: for programs that
/// catch errors and go on. A node that failed is not in the graph; of a call that makes several nodes, those
/// before it are. Descriptions of nodes that were begun before the error are still to be ended or abandoned.
BRAID_API braid_code braid_graph_take_error(braid_graph *graph, braid_status *status);

/// From lock to unlock this thread has the graph to itself: other threads that build wait, and sessions see
/// neither new nodes nor an error. Calls that build do so by themselves; this makes several of them one, such
/// as a node and braid_graph_take_error. Any number of times inside each other. A thread that has locked a
/// graph runs no session on it.
BRAID_API void braid_graph_lock(braid_graph *graph);
BRAID_API void braid_graph_unlock(braid_graph *graph);

/// Sets the graph-level seed (tf.set_random_seed). A random operation without a seed of its own gets seed =
/// `seed` and seed2 = the number of nodes built before it. One that sets its attribute seed2 alone gets this
/// seed (87654321 in a graph without one).
BRAID_API void braid_graph_set_seed(braid_graph *graph, int64_t seed);

// ---- Operations ----

/// The description of a node to be. Made by braid_op_begin, used up by braid_op_end.
typedef struct braid_op_desc braid_op_desc;

/// Begins a node of type `op_type`: an op, or a function of the graph's library. `name` is made unique within
/// the current name scope ("MatMul", "MatMul_1"); NULL stands for the op type. A name that ends in '/' is
/// used literally, without the scope and the '/'.
BRAID_API braid_op_desc *braid_op_begin(braid_graph *graph, const char *op_type, const char *name);
BRAID_API void braid_op_input(braid_op_desc *desc, braid_out input);
/// The next argument of the op takes a list (N*T or a typed list).
BRAID_API void braid_op_input_list(braid_op_desc *desc, const braid_out *inputs, int count);
BRAID_API void braid_op_control(braid_op_desc *desc, braid_op *op);
/// Asks for a device, merged into the current device scopes.
BRAID_API void braid_op_device(braid_op_desc *desc, const char *device);
/// Puts the node where `op` is (attr `_class`).
BRAID_API void braid_op_colocate(braid_op_desc *desc, braid_op *op);
/// Sets attributes. Attributes that the inputs determine (T, N, ...) and attributes with a default may be
/// left out.
BRAID_API void braid_op_attr_int(braid_op_desc *desc, const char *name, int64_t value);
BRAID_API void braid_op_attr_float(braid_op_desc *desc, const char *name, float value);
BRAID_API void braid_op_attr_bool(braid_op_desc *desc, const char *name, bool value);
BRAID_API void braid_op_attr_type(braid_op_desc *desc, const char *name, braid_dtype value);
BRAID_API void braid_op_attr_string(braid_op_desc *desc, const char *name, const char *value);
BRAID_API void braid_op_attr_shape(braid_op_desc *desc, const char *name, braid_shape value);
BRAID_API void braid_op_attr_tensor(braid_op_desc *desc, const char *name, const braid_tensor *value);
BRAID_API void braid_op_attr_int_list(braid_op_desc *desc, const char *name, const int64_t *values,
                                      int count);
BRAID_API void braid_op_attr_float_list(braid_op_desc *desc, const char *name, const float *values,
                                        int count);
BRAID_API void braid_op_attr_type_list(braid_op_desc *desc, const char *name, const braid_dtype *values,
                                       int count);
BRAID_API void braid_op_attr_shape_list(braid_op_desc *desc, const char *name, const braid_shape *values,
                                        int count);
BRAID_API void braid_op_attr_string_list(braid_op_desc *desc, const char *name, const char *const *values,
                                         int count);
/// Of type func, and list(func): names of functions of the graph's library, which an imported GraphDef
/// brings.
BRAID_API void braid_op_attr_func(braid_op_desc *desc, const char *name, const char *function);
BRAID_API void braid_op_attr_func_list(braid_op_desc *desc, const char *name, const char *const *functions,
                                       int count);
/// Any attribute from a serialized AttrValue of `len` bytes. The graph fails (InvalidArgument) when it is
/// malformed or holds no value.
BRAID_API void braid_op_attr_value(braid_op_desc *desc, const char *name, const void *attr_value, size_t len);
/// Adds the node and returns it; NULL when the graph has failed: an unknown op, a wrong number or type of
/// inputs, a missing attribute, shapes the op cannot take.
BRAID_API braid_op *braid_op_end(braid_op_desc *desc);
/// Drops a description instead of ending it; NULL is accepted. Those that are neither ended nor abandoned are
/// freed with the graph.
BRAID_API void braid_op_abandon(braid_op_desc *desc);
/// braid_op_end, and its output 0.
BRAID_API braid_out braid_op_end_out(braid_op_desc *desc);

/// Adds a node in one call, with default attributes: `count` inputs, one argument each.
BRAID_API braid_op *braid_op_add(braid_graph *graph, const char *op_type, const char *name,
                                 const braid_out *inputs, int count);

// ---- Where a program builds ----

/// Notes that this thread builds at a line of the program from now on. Nodes remember it; an error of the
/// graph and an error of a run that names a node end with "(built at FILE:LINE)". The macros of
/// braid/locations.h, which braid.h includes, call this in C programs. FILE need not outlive the call that
/// builds. NULL: no line is known. Running a session forgets the line.
BRAID_API void braid_here(const char *file, int line);
/// Returns the file of the line that built a node, and stores the line's number; NULL when it is not known.
/// Owned by the graph.
BRAID_API const char *braid_op_built_at(const braid_op *op, int *line);

// ---- Looking at a graph ----

BRAID_API const char *braid_op_name(const braid_op *op);
BRAID_API const char *braid_op_type(const braid_op *op);
/// The number of the node: braid_graph_op of its graph returns it by that. -1 when it is NULL.
BRAID_API int braid_op_index(const braid_op *op);
/// Returns the requested device; "" when no device was requested.
BRAID_API const char *braid_op_requested_device(const braid_op *op);
BRAID_API int braid_op_num_inputs(const braid_op *op);
BRAID_API braid_out braid_op_get_input(const braid_op *op, int index);
BRAID_API int braid_op_num_outputs(const braid_op *op);
/// Control inputs, each once, in the order in which they were added. NULL when there is no such input.
BRAID_API int braid_op_num_controls(const braid_op *op);
BRAID_API braid_op *braid_op_get_control(const braid_op *op, int index);
/// Stores which inputs belong to the argument `arg` of the op's definition: `*count` of them from `*first`
/// on. A list may be empty. InvalidArgument, with nothing stored: the definition has no such argument, or
/// Braid does not know the op. braid_op_output_range does so for outputs.
BRAID_API braid_code braid_op_input_range(const braid_op *op, const char *arg, int *first, int *count,
                                          braid_status *status);
BRAID_API braid_code braid_op_output_range(const braid_op *op, const char *arg, int *first, int *count,
                                           braid_status *status);
BRAID_API braid_graph *braid_op_graph(const braid_op *op);
BRAID_API braid_out braid_output(braid_op *op, int index);
/// Returns the type of an output; a reference type for a reference edge; BRAID_INVALID when the op is NULL.
BRAID_API braid_dtype braid_out_dtype(braid_out out);
/// Returns the shape that was inferred, perhaps with unknown dimensions.
BRAID_API braid_shape braid_out_shape(braid_out out);
/// Adds to what is known of an output's shape, where the program knows more than inference can
/// (Tensor.set_shape). Before nodes that use the output are made. The graph fails when it contradicts.
BRAID_API void braid_set_shape(braid_out out, braid_shape shape);
/// Returns the value of an output that follows from constants and known shapes (free it); NULL when it does
/// not, and when it is large or would take many nodes to compute. Runs kernels of the CPU.
BRAID_API braid_tensor *braid_out_constant(braid_out out);
/// Reads the value of an int32 or int64 vector as a shape, with -1 for elements that are not known (of the
/// Shape of a partly known tensor, for instance) and for negative ones. False, with nothing stored, when no
/// element is known.
BRAID_API bool braid_out_constant_shape(braid_out out, braid_shape *shape);
/// Stores at most `max` of the inputs that take `out`, in the order of their nodes, and returns how many
/// there are. `consumers` may be NULL when `max` is 0.
BRAID_API int braid_out_consumers(braid_out out, braid_in *consumers, int max);
/// Stores at most `max` of the nodes that have `op` as a control input, in order, and returns how many there
/// are.
BRAID_API int braid_op_control_outputs(const braid_op *op, braid_op **ops, int max);
/// The node of that name, or NULL.
BRAID_API braid_op *braid_graph_find(const braid_graph *graph, const char *name);
/// Finds the output "name" or "name:index"; the op is NULL when the graph has no such output.
BRAID_API braid_out braid_graph_find_out(const braid_graph *graph, const char *name);
BRAID_API int braid_graph_num_ops(const braid_graph *graph);
/// Nodes in the order in which they were added.
BRAID_API braid_op *braid_graph_op(const braid_graph *graph, int index);

// ---- Changing nodes ----

/// A session keeps a node as it was when the session got it: when it was opened, or at its first run with the
/// node in the graph. Change nodes before that. The calls below leave shapes of outputs as they are, and do
/// not check whether an edge closes a cycle: a run reports one that is no loop. On an error they change
/// nothing.
///
/// Connects data input `index` to `from`. InvalidArgument: no such input or output, another graph, a type
/// that the op does not take, or a shape that contradicts that of the input so far.
BRAID_API braid_code braid_op_set_input(braid_op *op, int index, braid_out from, braid_status *status);
/// Adds a control input, if the node does not have it. InvalidArgument: NULL, another graph, or the node
/// itself.
BRAID_API braid_code braid_op_add_control(braid_op *op, braid_op *control, braid_status *status);
/// Replaces all control inputs by `controls` [count], each once. Errors: those of braid_op_add_control.
BRAID_API braid_code braid_op_set_controls(braid_op *op, braid_op *const *controls, int count,
                                           braid_status *status);
/// Makes the node request exactly `device`, without regard to scopes; NULL or "": no device. InvalidArgument
/// when it is malformed.
BRAID_API braid_code braid_op_set_device(braid_op *op, const char *device, braid_status *status);

// ---- Scopes ----

/// A pop without its push makes the graph fail, here and for the scopes below.
///
/// While pushed, names begin with "scope/", made unique as a node's name would be ("gradients",
/// "gradients_1"). A scope that ends in '/' is entered again without being made unique. "" or NULL leaves all
/// scopes. Returns the scope with its '/', valid as long as the graph.
BRAID_API const char *braid_push_name_scope(braid_graph *graph, const char *scope);
BRAID_API void braid_pop_name_scope(braid_graph *graph);

/// Returns what a node or a scope called `name` would be called in full: within the current name scope, with
/// a number behind it where that is used. Valid as long as the graph. `marks_used`: the name is taken from
/// now on. A node gets it by that name and a '/' behind it.
BRAID_API const char *braid_graph_unique_name(braid_graph *graph, const char *name, bool marks_used);

/// While pushed, new nodes request `device` ("/job:ps/task:0/cpu:0"); fields of an inner scope take
/// precedence. NULL: no device.
BRAID_API void braid_push_device(braid_graph *graph, const char *device);
/// The same with a function of the node being made: it returns a device string (owned by the function) or
/// NULL. Called once a node, with its type, its number of outputs, the type and shape of output 0 where
/// already known (of a resource variable, those of the variable), and the device that the inner scopes and
/// the node ask for so far.
typedef const char *(*braid_device_fn)(void *arg, const char *op_type, const char *device, braid_dtype dtype,
                                       braid_shape shape);
BRAID_API void braid_push_device_fn(braid_graph *graph, braid_device_fn fn, void *arg);
BRAID_API void braid_pop_device(braid_graph *graph);

/// While pushed, new nodes have control inputs from all of `ops`. NULL: the control scopes outside do not
/// apply either.
BRAID_API void braid_push_control(braid_graph *graph, braid_op *const *ops, int count);
BRAID_API void braid_pop_control(braid_graph *graph);

/// While pushed, new nodes are colocated with `op` (attr `_class`), regardless of device scopes.
BRAID_API void braid_push_colocate(braid_graph *graph, braid_op *op);
/// The same by the node's name; it may be made later: initial values are made before their variable.
BRAID_API void braid_push_colocate_name(braid_graph *graph, const char *name);
BRAID_API void braid_pop_colocate(braid_graph *graph);

// ---- Groups ----

/// A node that is done when all of `ops` are, with one node for each of their devices in between (tf.group).
/// `name` NULL: "group_deps".
BRAID_API braid_op *braid_group(braid_graph *graph, const char *name, braid_op *const *ops, int count);
/// Stores to `outs` [count], which may be `values`, the same values, each available only when all are
/// (tf.tuple).
BRAID_API void braid_tuple(braid_graph *graph, const braid_out *values, int count, braid_out *outs);

// ---- Collections and what belongs to a graph ----

/// Calls `release(what)` when the graph is freed. For helpers whose state lives as long as the graph.
BRAID_API void braid_graph_own(braid_graph *graph, void *what, void (*release)(void *what));
/// Returns what was given to braid_graph_own first together with `release`; NULL when nothing was.
BRAID_API void *braid_graph_owned(const braid_graph *graph, void (*release)(void *what));

/// Names of TensorFlow's collections ("variables", "trainable_variables", "global_step", ...) hold outputs.
BRAID_API void braid_collect(braid_graph *graph, const char *collection, braid_out out);
/// Returns the outputs in order and their number; owned by the graph, valid until the next braid_collect.
BRAID_API const braid_out *braid_collection(const braid_graph *graph, const char *collection, int *count);
/// The same for what is not an output (queue runners, for instance). The objects stay their owner's and live
/// as long as the graph (braid_graph_own).
BRAID_API void braid_collect_object(braid_graph *graph, const char *collection, void *object);
BRAID_API void *const *braid_collection_objects(const braid_graph *graph, const char *collection, int *count);

// ---- GraphDef ----

/// Adds the nodes of a serialized GraphDef, all or none. An op that Braid does not know is imported and fails
/// only a run that reaches it. InvalidArgument: a malformed message, an unknown input, a name that exists, an
/// attribute of the wrong kind.
BRAID_API braid_code braid_graph_import(braid_graph *graph, const void *data, size_t len,
                                        braid_status *status);
/// Returns the graph as a serialized GraphDef (free() it) and its length; NULL when the graph has failed.
BRAID_API void *braid_graph_export(const braid_graph *graph, size_t *len, braid_status *status);

/// The same of the nodes from number `first_op` on, with all functions and versions. `with_defaults`:
/// attributes that have their default are written too, as TensorFlow's Python does, but for those that the op
/// does not have in TensorFlow 1.15. InvalidArgument: there are fewer nodes.
BRAID_API void *braid_graph_export_from(const braid_graph *graph, int first_op, bool with_defaults,
                                        size_t *len, braid_status *status);
/// Returns one node as a serialized NodeDef (free() it) and its length; NULL on an error.
BRAID_API void *braid_op_node_def(const braid_op *op, bool with_defaults, size_t *len, braid_status *status);

/// braid_graph_import of protobuf's text format (text_format.Merge): `len` bytes of text. InvalidArgument
/// names line, column and field of malformed text.
BRAID_API braid_code braid_graph_import_text(braid_graph *graph, const char *text, size_t len,
                                             braid_status *status);
/// Returns the graph as text that TensorFlow reads (free() it); NULL when the graph has failed.
BRAID_API char *braid_graph_export_text(const braid_graph *graph, braid_status *status);

/// Adds the nodes of a GraphDef in a file, all or none: text if its name ends in ".pbtxt", else binary.
/// Errors name the file: errors of the import, and NotFound, PermissionDenied, ... of the file system.
/// Blocks.
BRAID_API braid_code braid_graph_read(braid_graph *graph, const char *path, braid_status *status);
/// Writes the graph to a file (tf.train.write_graph): as text if its name ends in ".pbtxt", else as binary.
/// The file is replaced atomically. Its directory must exist. Blocks.
BRAID_API braid_code braid_graph_write(const braid_graph *graph, const char *path, braid_status *status);

// ---- Symbolic gradients ----

/// Builds nodes that compute the derivatives of the sum of `ys` by each of `xs` (reverse mode; Abadi et al.
/// 2016, section 4.1), under the name scope "gradients", as tf.gradients does, and stores them to `grads`
/// [num_xs]. An entry whose op is NULL means that no path leads to that x, or that no op on it has a
/// gradient. `grad_ys` [num_ys] are the initial gradients; NULL (or an entry whose op is NULL) stands for
/// ones. Consumers of an op's gradients wait for all of them, as optimizers require (GATE_OP).
///
/// An op without a gradient function on a path makes the graph fail (NotFound). Gradients go through
/// conditionals and loops (control.h, or as TensorFlow builds them), also nested ones; second-order gradients
/// of loops are refused (Unimplemented). If, Case, While and PartitionedCall on a path are replaced by the
/// nodes of their functions in the graph itself, so that their values are computed once; a session that
/// already has such a node keeps it. Functions that are called by name or are recursive get a
/// SymbolicGradient, which computes the needed forward values again.
BRAID_API void braid_gradients(braid_graph *graph, const braid_out *ys, int num_ys, const braid_out *xs,
                               int num_xs, const braid_out *grad_ys, braid_out *grads);

/// A gradient: a tensor, or, where a few rows of a large one were gathered, these rows (tf.IndexedSlices).
typedef struct braid_gradient {
    braid_out values; ///< the tensor, or rows [n, ...]; op NULL: no gradient
    /// [n] which rows of the whole they are, perhaps some several times; op NULL: `values` is the whole
    braid_out indices;
    braid_out dense_shape; ///< of the whole, a vector; with `indices` only
} braid_gradient;

/// How several gradients of one output are added up (tf.AggregationMethod). Gradients of rows are joined with
/// each of them.
typedef enum braid_aggregation_method {
    BRAID_ADD_N = 0,         ///< by an AddN on each device, then one of their sums
    BRAID_EXPERIMENTAL_TREE, ///< one after the other, so that each can be freed before the next is there
    /// By an AccumulateNV2, where there are more than two and their shape is known; otherwise as a tree.
    BRAID_EXPERIMENTAL_ACCUMULATE_N
} braid_aggregation_method;

/// Options of braid_gradients_with; all zero: the defaults of tf.gradients.
typedef struct braid_gradients_options {
    const braid_out *grad_ys; ///< as for braid_gradients
    /// NULL, or [num_ys] the initial gradients in place of `grad_ys`. One of rows may lack its `dense_shape`
    /// where no op on its paths needs the whole.
    const braid_gradient *sparse_grad_ys;
    bool gate;        ///< tie the gradients of each op by tf.tuple (tf.gradients' gate_gradients)
    bool colocate;    ///< place gradient nodes with the op they differentiate (colocate_gradients_with_ops)
    const char *name; ///< the name scope; NULL: "gradients"
    const braid_out *stops; ///< [stop_count] nothing goes through their ops (stop_gradients)
    int stop_count;
    /// NULL, or asked first at each op on a path, in its scopes: builds the gradients of the op's inputs into
    /// `input_grads`, which has none, and returns true, or returns false for those of Braid
    /// (RegisterGradient, gradient_override_map). `output_grads` has one gradient for each output, as
    /// braid_op_gradient takes them. The graph is not locked meanwhile.
    bool (*gradient)(void *arg, braid_op *op, const braid_gradient *output_grads,
                     braid_gradient *input_grads);
    /// NULL, or called for each new node where no loop is on a path, before the next is made: gradients are
    /// built within a branch or a loop of the program's, which brings the node's inputs in. The graph is not
    /// locked meanwhile, and no scope of control inputs or colocation applies.
    void (*take)(void *arg, braid_op *op);
    const braid_out *conditions; ///< [condition_count] of the conditionals that `take` builds a branch of
    int condition_count;
    void *arg; ///< for `gradient` and `take`
    braid_aggregation_method aggregation;
} braid_gradients_options;

/// braid_gradients with options; `options` NULL: the defaults.
BRAID_API void braid_gradients_with(braid_graph *graph, const braid_out *ys, int num_ys, const braid_out *xs,
                                    int num_xs, const braid_gradients_options *options, braid_out *grads);

/// braid_gradients_with that leaves gradients of rows as they are.
BRAID_API void braid_gradients_sparse(braid_graph *graph, const braid_out *ys, int num_ys,
                                      const braid_out *xs, int num_xs, const braid_gradients_options *options,
                                      braid_gradient *grads);
/// How the gradients of an op are made.
typedef enum braid_gradient_kind {
    BRAID_GRADIENT_NONE = 0,           ///< none is registered: an op on a path makes braid_gradients fail
    BRAID_GRADIENT_NOT_DIFFERENTIABLE, ///< there is none by definition (tf.NotDifferentiable)
    BRAID_GRADIENT_FUNCTION,           ///< braid_op_gradient builds them
    /// An Enter, Exit or NextIteration of a loop, or a conditional, loop or call of functions:
    /// braid_gradients looks at the whole of it, and no function of one op does.
    BRAID_GRADIENT_WALK
} braid_gradient_kind;

BRAID_API braid_gradient_kind braid_op_gradient_kind(const braid_op *op);
/// Builds the gradients of the inputs of one op from those of its outputs, and stores them to `input_grads`
/// [inputs of the op]: for programs that walk the graph themselves (ops.get_gradient_function(op)(op,
/// *grads)). `output_grads` [count]: one for each output; one without values stands for zeros if its type has
/// gradients. Nodes get the scopes of the graph; tf.gradients enters the name scope NAME_grad of the op's
/// name. An entry without values is no gradient, as are all of an op that is not differentiable. The graph
/// fails: NotFound when the op has no gradient function, InvalidArgument for gradients of another number,
/// graph or type.
BRAID_API void braid_op_gradient(braid_op *op, const braid_gradient *output_grads, int count,
                                 braid_gradient *input_grads);
/// The whole of a gradient: a tensor of zeros but for the rows, which are added up (tf.convert_to_tensor).
BRAID_API braid_out braid_gradient_to_dense(braid_graph *graph, const braid_gradient *gradient);

#ifdef __cplusplus
}
#endif
#endif
