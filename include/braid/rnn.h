// Recurrent networks: cells, and their static and dynamic unrolling (tf.nn.rnn_cell, tf.nn.dynamic_rnn).
//
//     braid_rnn_cell *cell = braid_basic_lstm_cell(graph, 128, 1, NULL);
//     braid_out y = braid_dynamic_rnn(cell, x, NULL, NULL);  // [batch, time, depth] -> [batch, time, 128]
//
// A cell makes its variables when it is first used, in the scope of that use ("rnn/basic_lstm_cell/kernel"),
// and uses them again afterwards. Cells are owned by their graph. Errors are the graph's (graph.h). Inputs
// are float or double matrices [batch, depth] of a known depth; states are matrices [batch, size].
#ifndef BRAID_RNN_H
#define BRAID_RNN_H

#include <braid/initializers.h>
#include <braid/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The most states a cell may have: two for each layer of LSTM cells.
#define BRAID_RNN_STATES_MAX 64

typedef struct braid_rnn_cell braid_rnn_cell;

/// The functions of a cell.
typedef struct braid_rnn_cell_type {
    const char *name; ///< "basic_lstm_cell": the name scope of its nodes and variables
    /// Makes the variables for inputs [batch, input_size], once, outside of all loops. Optional.
    void (*build)(braid_rnn_cell *cell, braid_dtype dtype, int64_t input_size);
    /// Builds a step: from `input` and `state` to the output, which is returned, and to `next`, which may be
    /// `state`.
    braid_out (*step)(braid_rnn_cell *cell, braid_out input, const braid_out *state, braid_out *next);
} braid_rnn_cell_type;

/// A tensor of a cell's state.
typedef struct braid_rnn_state {
    int64_t size;   ///< it is [batch, size]
    bool is_memory; ///< the `c` of an LSTM cell, which dropout of states leaves as it is
} braid_rnn_state;

/// What a cell is made of; `data` is copied for its functions (braid_rnn_cell_data).
typedef struct braid_rnn_cell_spec {
    const braid_rnn_cell_type *type; ///< outlives the graph
    /// A scope in place of the type's, taken as it is, so that cells can share variables; copied. NULL: the
    /// type's, made unique.
    const char *name;
    int64_t output_size;
    int state_count;
    braid_rnn_state states[BRAID_RNN_STATES_MAX]; ///< [state_count]
    const void *data;
    size_t data_size;
} braid_rnn_cell_spec;

/// Makes a cell; NULL when the graph fails: sizes that are not positive, too many states.
BRAID_API braid_rnn_cell *braid_rnn_cell_new(braid_graph *graph, const braid_rnn_cell_spec *spec);
BRAID_API braid_graph *braid_rnn_cell_graph(const braid_rnn_cell *cell);
BRAID_API void *braid_rnn_cell_data(braid_rnn_cell *cell);
BRAID_API int64_t braid_rnn_cell_output_size(const braid_rnn_cell *cell);
/// Returns the states and their number.
BRAID_API const braid_rnn_state *braid_rnn_cell_states(const braid_rnn_cell *cell, int *count);
/// Stores states of zeros [batch_size, size] to `states`; `batch_size` is an int32 scalar.
BRAID_API void braid_rnn_cell_zero_state(braid_rnn_cell *cell, braid_out batch_size, braid_dtype dtype,
                                         braid_out *states);
/// Makes the variables of the cell, unless it has them, in a scope of its name, which is made unique
/// ("basic_lstm_cell_1"). Kernels begin as the cell's options say, else as the variable scope does, else by
/// braid_glorot_uniform_initializer.
BRAID_API void braid_rnn_cell_build(braid_rnn_cell *cell, braid_dtype dtype, int64_t input_size);
/// One step of a cell that has its variables: returns the output and stores the states after it to `next`,
/// which may be `state`. The graph fails when the input or a state has another type or size than the cell's.
BRAID_API braid_out braid_rnn_cell_step(braid_rnn_cell *cell, braid_out input, const braid_out *state,
                                        braid_out *next);

// ---- Cells of `units` units ----

/// Options of all cells; all zero (or NULL): TensorFlow's defaults.
typedef struct braid_rnn_cell_options {
    const char *name;                     ///< as in braid_rnn_cell_spec
    braid_activation activation;          ///< NULL: braid_tanh
    braid_initializer kernel_initializer; ///< also of peepholes; `build` NULL: as the variable scope says
    braid_initializer bias_initializer;   ///< `build` NULL: zeros, ones for the gates of a GRU
} braid_rnn_cell_options;

/// activation(W [x, h] + b). One state, the output.
BRAID_API braid_rnn_cell *braid_basic_rnn_cell(braid_graph *graph, int64_t units,
                                               const braid_rnn_cell_options *options);
/// Gated recurrent unit (Cho et al., EMNLP 2014). One state, the output.
BRAID_API braid_rnn_cell *braid_gru_cell(braid_graph *graph, int64_t units,
                                         const braid_rnn_cell_options *options);
/// Long short-term memory (Hochreiter and Schmidhuber 1997) as in Zaremba et al. (2014), without peepholes.
/// `forget_bias` (TensorFlow's default is 1) is added to the forget gate. States c and h; the output is h.
BRAID_API braid_rnn_cell *braid_basic_lstm_cell(braid_graph *graph, int64_t units, float forget_bias,
                                                const braid_rnn_cell_options *options);

typedef struct braid_lstm_options {
    braid_rnn_cell_options cell;
    bool use_peepholes; ///< gates see the memory too (Gers and Schmidhuber 2000)
    float cell_clip;    ///< the memory is clipped to [-cell_clip, cell_clip]; 0: not
    int64_t num_proj;   ///< the output is projected to so many units (Sak et al. 2014); 0: not
    float proj_clip;    ///< and clipped; 0: not
    float forget_bias;  ///< added to the forget gate
} braid_lstm_options;

/// TensorFlow's: no peepholes, clipping or projection, a forget bias of 1.
BRAID_API braid_lstm_options braid_lstm_defaults(void);
/// tf.nn.rnn_cell.LSTMCell. States c and h. `options` NULL: the defaults.
BRAID_API braid_rnn_cell *braid_lstm_cell(braid_graph *graph, int64_t units,
                                          const braid_lstm_options *options);

// ---- Cells of cells ----

/// Layers: the output of a cell is the input of the next. States are those of `cells` [count], one cell after
/// the other.
BRAID_API braid_rnn_cell *braid_multi_rnn_cell(braid_graph *graph, braid_rnn_cell *const *cells, int count);
/// What a dropout wrapper keeps: probabilities, scalars of the cell's type; op NULL: all of it.
typedef struct braid_dropout_options {
    braid_out input_keep_prob, output_keep_prob;
    braid_out state_keep_prob; ///< of the next states, but the memory of LSTM cells
    /// The same columns are dropped in each step and row of a run (Gal and Ghahramani, NIPS 2016).
    bool variational;
} braid_dropout_options;
/// Dropout (braid_dropout) of the inputs, outputs and states of a cell.
BRAID_API braid_rnn_cell *braid_dropout_wrapper(braid_rnn_cell *cell, const braid_dropout_options *options);
/// The output plus the input, of the same size (Wu et al., arXiv:1609.08144).
BRAID_API braid_rnn_cell *braid_residual_wrapper(braid_rnn_cell *cell);
/// Asks for `device` for the variables and steps of a cell, within the device scopes of their use.
BRAID_API braid_rnn_cell *braid_device_wrapper(braid_rnn_cell *cell, const char *device);

// ---- Unrolling ----

/// Options; all zero (or NULL): states of zeros, all steps, [batch, time, depth].
typedef struct braid_rnn_options {
    const braid_out *initial_state; ///< [states]; NULL: zeros
    /// [batch] int32 or int64: from its end on, a row has an output of zero and keeps its state; op NULL: all
    braid_out sequence_length;
    bool time_major;         ///< inputs and outputs are [time, batch, depth]
    int parallel_iterations; ///< 0: 32
    const char *name;        ///< the scope of nodes and variables; NULL: "rnn", or "bidirectional_rnn"
} braid_rnn_options;

/// Runs a cell over `inputs` [batch, time, depth] in a loop (tf.nn.dynamic_rnn). Returns the outputs [batch,
/// time, output size] and stores the last states to `final_state` (NULL: not wanted).
BRAID_API braid_out braid_dynamic_rnn(braid_rnn_cell *cell, braid_out inputs,
                                      const braid_rnn_options *options, braid_out *final_state);
/// Builds one step for each of `inputs` [count] (tf.nn.static_rnn), each [batch, depth], and stores the
/// outputs to `outputs` [count], the last states to `final_state` (NULL: not wanted). `time_major` and
/// `parallel_iterations` do not matter. With `sequence_length` each step is computed for all rows; TensorFlow
/// skips steps that no row has.
BRAID_API void braid_static_rnn(braid_rnn_cell *cell, const braid_out *inputs, int count,
                                const braid_rnn_options *options, braid_out *outputs, braid_out *final_state);

// ---- In both directions: cells[0] runs forwards in time, cells[1] backwards ----

/// The states of each cell; NULL as in braid_rnn_options and `final_state`.
typedef struct braid_bidirectional_states {
    const braid_out *initial[2];
    braid_out *final[2];
} braid_bidirectional_states;

/// Runs both cells over `inputs` (tf.nn.bidirectional_dynamic_rnn) in the scopes "fw" and "bw". Stores the
/// outputs of each to `outputs`, both in the order of the inputs. With `sequence_length` the second cell
/// begins at the end of each row. `states` NULL: zeros, not wanted; `options->initial_state` does not matter.
BRAID_API void braid_bidirectional_dynamic_rnn(braid_rnn_cell *const cells[2], braid_out inputs,
                                               const braid_rnn_options *options,
                                               const braid_bidirectional_states *states,
                                               braid_out outputs[2]);
/// The same, unrolled (tf.nn.static_bidirectional_rnn): outputs[i] is that of both cells for inputs[i],
/// joined along the last dimension.
BRAID_API void braid_static_bidirectional_rnn(braid_rnn_cell *const cells[2], const braid_out *inputs,
                                              int count, const braid_rnn_options *options,
                                              const braid_bidirectional_states *states, braid_out *outputs);

#ifdef __cplusplus
}
#endif
#endif
